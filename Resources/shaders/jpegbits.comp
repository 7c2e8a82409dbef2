#version 310 es
// Writes the codes of each JPEG block at its place among the scan's bits.
precision highp float;
precision highp int;
layout(local_size_x = 64) in;
#include "jpeg.glsl"
#include "jpegcode.glsl"

int place;
uint word = 0u;
int filled;
bool isFirst = true;

// The first word and the last one also have bits of other blocks.
void flush(uint word) {
  if (isFirst) atomicOr(work[place], word); else work[place] = word;
  isFirst = false;
  place++;
}

// At most 31 bits.
void put(uint bits, int count) {
  int free = 32 - filled;
  if (count < free) {
    word |= bits << (free - count);
    filled += count;
    return;
  }
  int rest = count - free;
  flush(word | bits >> rest);
  word = rest == 0 ? 0u : bits << (32 - rest);
  filled = rest;
}

void putCode(uint code, int size, int value) {
  uint bits = uint(value < 0 ? value - 1 : value) & ((1u << size) - 1u);
  put((code & 65535u) << size | bits, int(code >> 16) + size);
}

void main() {
  int block = invocation();
  if (block >= blockCount() || plainBytes() == 0) return;
  uint start = work[placesOfBlocks.z + block] + work[placesOfBlocks.w + workgroup()];
  place = placesOfBytes.x + int(start >> 5);
  filled = int(start & 31u);
#define PUT(CODE, SIZE, VALUE) putCode(CODE, SIZE, VALUE);
  WALK(block, PUT)
  // Ones fill the last byte (T.81, F.1.2.3).
  int padding = -filled & 7;
  if (block == blockCount() - 1 && padding > 0) put((1u << padding) - 1u, padding);
  if (filled > 0) atomicOr(work[place], word);
}
