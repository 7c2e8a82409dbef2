#version 310 es
// Quantises the blocks of a JPEG at the quality that was chosen for its budget; 32 words a block.
precision highp float;
precision highp int;
layout(local_size_x = 64) in;
#include "jpeg.glsl"
#include "jpegquality.glsl"

void main() {
  int word = invocation(), block = word >> 5, quality = int(work[chosen()]);
  if (block >= blockCount() || quality == 0) return;
  int table = block % blocksOfMCU() < blocksOfLuma() ? 0 : 1, index = (word & 31) * 2;
  uint pair = coefficients[placesOfBlocks.x + word];
  int first = quantised(int(pair << 16) >> 16, divisorAt(quality, table, index));
  int second = quantised(int(pair) >> 16, divisorAt(quality, table, index + 1));
  coefficients[placesOfBlocks.x + word] = (uint(first) & 65535u) | uint(second) << 16;
}
