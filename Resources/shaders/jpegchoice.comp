#version 310 es
// Searches the highest quality at which a JPEG keeps within its budget, in two rounds of candidates.
precision highp float;
precision highp int;
layout(local_size_x = 1) in;
#include "jpeg.glsl"
#include "jpegquality.glsl"

// 0 before the first counts, then 1 after each.
uniform int isCounted;

// Of noise, a byte of 256 is followed by stuffing; nearly twice that is allowed for.
bool fits(uint bits) {
  uint count = (bits + 7u) >> 3;
  return count + count / 128u + 16u <= uint(budget.x);
}

void main() {
  if (isCounted == 0) {
    work[lowest()] = uint(budget.y);
    work[highest()] = uint(budget.z);
    work[chosen()] = 0u;
  } else if (work[lowest()] <= work[highest()]) {
    int best = -1;
    for (int index = 0; index < CANDIDATES; index++) {
      if (fits(work[bitsOf(index)])) best = index;
    }
    int next = best < 0 ? 0 : best == CANDIDATES - 1 ? candidateAt(best) : candidateAt(best + 1) - 1;
    int found = best < 0 ? 0 : candidateAt(best);
    work[chosen()] = max(work[chosen()], uint(found));
    work[lowest()] = uint(found + 1);
    work[highest()] = uint(next);
  }
  for (int index = 0; index < CANDIDATES; index++) work[bitsOf(index)] = 0u;
}
