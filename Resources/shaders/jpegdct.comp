#version 310 es
// The forward DCT of JPEG blocks, as libjpeg's jfdctint.c does it, and their quantisation, except with KEEPS_FRACTIONS: eight
// invocations a block, first one a row, then one a column.
precision highp float;
precision highp int;
layout(local_size_x = 64) in;
#include "jpeg.glsl"
#include "jpegquality.glsl"

// The first word, words in a row, the last column and the last row.
uniform ivec4 lumaPlane;
uniform ivec4 cbPlane;
uniform ivec4 crPlane;
// Blocks of Y' across and down that have samples.
uniform ivec2 lumaBlocks;

// Rows are a word apart, so that columns do not collide.
shared int held[8 * 72];

int sampleAt(ivec4 plane, int row, int column) {
  column = min(column, plane.z);
  uint word = samples[plane.x + row * plane.y + (column >> 2)];
  return int(word >> (8 * (column & 3)) & 255u) - 128;
}

ivec4 samplesAt(ivec4 plane, int row, int column) {
  if (column + 3 > plane.z) {
    return ivec4(
      sampleAt(plane, row, column), sampleAt(plane, row, column + 1), sampleAt(plane, row, column + 2),
      sampleAt(plane, row, column + 3));
  }
  uint word = samples[plane.x + row * plane.y + (column >> 2)];
  return ivec4(uvec4(word, word >> 8, word >> 16, word >> 24) & 255u) - 128;
}

// One dimension: `low` and `high` are the inputs 0...3 and 4...7, then the outputs. Factors have 13 bits of fraction, and the
// sums between the dimensions 2.
void transform(inout ivec4 low, inout ivec4 high, bool isFirst) {
  int shift = isFirst ? 11 : 15, rounding = 1 << (shift - 1);
  ivec4 even = low + high.wzyx, odd = low - high.wzyx;
  int sum = even.x + even.w, difference = even.x - even.w;
  int innerSum = even.y + even.z, innerDifference = even.y - even.z;
  low.x = isFirst ? (sum + innerSum) << 2 : (sum + innerSum + 2) >> 2;
  high.x = isFirst ? (sum - innerSum) << 2 : (sum - innerSum + 2) >> 2;
  int both = (innerDifference + difference) * 4433 + rounding;
  low.z = (both + difference * 6270) >> shift;
  high.z = (both - innerDifference * 15137) >> shift;
  // Of odd, x is libjpeg's tmp7, y tmp6, z tmp5 and w tmp4.
  int z3 = odd.w + odd.y, z4 = odd.z + odd.x, z5 = (z3 + z4) * 9633;
  int z1 = (odd.w + odd.x) * -7373, z2 = (odd.z + odd.y) * -20995;
  z3 = z3 * -16069 + z5 + rounding;
  z4 = z4 * -3196 + z5 + rounding;
  high.w = (odd.w * 2446 + z1 + z3) >> shift;
  high.y = (odd.z * 16819 + z2 + z4) >> shift;
  low.w = (odd.y * 25172 + z2 + z3) >> shift;
  low.y = (odd.x * 12299 + z1 + z4) >> shift;
}

// The place of a block of Y' among all of them. The blocks of an MCU beyond the picture have the DC of the one before them, and
// nothing else.
ivec2 lumaBlock(ivec2 mcu, int place, out bool isFilling) {
  isFilling = false;
  ivec2 block = mcu * layoutOfBlocks.yz;
  for (; place > 0; place--) {
    ivec2 other = block + ivec2(place % layoutOfBlocks.y, place / layoutOfBlocks.y);
    if (all(lessThan(other, lumaBlocks))) return other;
    isFilling = true;
  }
  return block;
}

uint resultAt(int start, int index, int table) {
  int place = int(naturalOrder[index >> 2][index & 3]);
  int value = held[start + place / 8 * 9 + place % 8];
#ifndef KEEPS_FRACTIONS
  value = quantised(value, divisors[table * 16 + (index >> 2)][index & 3]);
#endif
  return uint(value) & 65535u;
}

void main() {
  if (workgroup() >= groupCount) return;
  int index = min(invocation() >> 3, blockCount() - 1);
  int lane = int(gl_LocalInvocationIndex) & 7, start = (int(gl_LocalInvocationIndex) >> 3) * 72;
  int mcu = index / blocksOfMCU(), place = index - mcu * blocksOfMCU();
  ivec2 block = ivec2(mcu % layoutOfBlocks.x, mcu / layoutOfBlocks.x);
  bool isFilling = false, isLuma = place < blocksOfLuma();
  ivec4 plane = isLuma ? lumaPlane : place == blocksOfLuma() ? cbPlane : crPlane;
  if (isLuma) block = lumaBlock(block, place, isFilling);

  int row = min(block.y * 8 + lane, plane.w);
  ivec4 low = samplesAt(plane, row, block.x * 8), high = samplesAt(plane, row, block.x * 8 + 4);
  transform(low, high, true);
  for (int column = 0; column < 4; column++) {
    held[start + lane * 9 + column] = low[column];
    held[start + lane * 9 + column + 4] = high[column];
  }
  memoryBarrierShared();
  barrier();
  for (int other = 0; other < 4; other++) {
    low[other] = held[start + other * 9 + lane];
    high[other] = held[start + (other + 4) * 9 + lane];
  }
  transform(low, high, false);
  for (int other = 0; other < 4; other++) {
    held[start + other * 9 + lane] = low[other];
    held[start + (other + 4) * 9 + lane] = high[other];
  }
  memoryBarrierShared();
  barrier();
  if (invocation() >> 3 >= blockCount()) return;
  for (int word = lane * 4; word < lane * 4 + 4; word++) {
    uint first = resultAt(start, 2 * word, isLuma ? 0 : 1), second = resultAt(start, 2 * word + 1, isLuma ? 0 : 1);
    if (isFilling) first = word == 0 ? first : 0u;
    coefficients[placesOfBlocks.x + index * 32 + word] = first | (isFilling ? 0u : second) << 16;
  }
}
