#version 310 es
// Counts the bits that the blocks of a JPEG would take at each candidate's quality: the candidate is z.
precision highp float;
precision highp int;
layout(local_size_x = 64) in;
#define QUANTISES
#include "jpeg.glsl"
#include "jpegquality.glsl"
#include "jpegcode.glsl"

int quality;
shared uint sums[64];

int coefficient(int block, int index) {
  int table = block % blocksOfMCU() < blocksOfLuma() ? 0 : 1;
  return quantised(stored(block, index), divisorAt(quality, table, index));
}

void main() {
  int candidate = int(gl_WorkGroupID.z), lane = int(gl_LocalInvocationIndex), block = invocation();
  if (workgroup() >= groupCount || work[lowest()] > work[highest()]) return;
  quality = candidateAt(candidate);
  uint bits = 0u;
#define COUNT(CODE, SIZE, VALUE) bits += ((CODE) >> 16) + uint(SIZE);
  if (block < blockCount()) WALK(block, COUNT)
  sums[lane] = bits;
  for (int reach = 32; reach > 0; reach /= 2) {
    memoryBarrierShared();
    barrier();
    if (lane < reach) sums[lane] += sums[lane + reach];
  }
  if (lane == 0) atomicAdd(work[bitsOf(candidate)], sums[0]);
}
