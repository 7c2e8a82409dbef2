#version 310 es
// The number of bits of each JPEG block, as sums over those before it.
precision highp float;
precision highp int;
layout(local_size_x = 64) in;
#include "jpeg.glsl"
#include "jpegcode.glsl"
#include "jpegsums.glsl"

void main() {
  if (workgroup() >= groupCount) return;
  int block = invocation();
  uint bits = 0u;
#define COUNT(CODE, SIZE, VALUE) bits += ((CODE) >> 16) + uint(SIZE);
  if (block < blockCount()) WALK(block, COUNT)
  addUpBefore(bits, placesOfBlocks.z, placesOfBlocks.w);
}
