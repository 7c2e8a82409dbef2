// Walks through the codes of a block.
int stored(int block, int index) {
  uint pair = coefficients[placesOfBlocks.x + block * 32 + (index >> 1)];
  return int(pair << ((index & 1) == 0 ? 16 : 0)) >> 16;
}

#ifndef QUANTISES
int coefficient(int block, int index) { return stored(block, index); }
#else
int coefficient(int block, int index);
#endif

int category(int value) { return value == 0 ? 0 : findMSB(abs(value)) + 1; }

uint code(int index) { return codes[index >> 2][index & 3]; }

// The difference of a block's DC from the one before it of its component.
int difference(int block) {
  int mcu = block / blocksOfMCU(), place = block - mcu * blocksOfMCU();
  int before = block - blocksOfMCU();
  if (place < blocksOfLuma()) before = place > 0 ? block - 1 : block - 3;
  return coefficient(block, 0) - (before < 0 ? 0 : coefficient(before, 0));
}

// Calls EMIT(code, category, value) for each code of a block, where the code is as in `codes`.
#define WALK(BLOCK, EMIT) { \
  int table = (BLOCK) % blocksOfMCU() < blocksOfLuma() ? 0 : 1; \
  int value = difference(BLOCK), size = category(value), run = 0; \
  EMIT(code(table * 16 + size), size, value) \
  table = 32 + table * 256; \
  for (int index = 1; index < 64; index++) { \
    value = coefficient(BLOCK, index); \
    if (value == 0) { run++; continue; } \
    for (; run > 15; run -= 16) EMIT(code(table + 240), 0, 0) \
    size = category(value); \
    EMIT(code(table + run * 16 + size), size, value) \
    run = 0; \
  } \
  if (run > 0) EMIT(code(table), 0, 0) \
}
