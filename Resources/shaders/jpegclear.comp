#version 310 es
// Sets the words to 0 into which JPEG's bits and bytes are combined.
precision highp float;
precision highp int;
layout(local_size_x = 64) in;
#include "jpeg.glsl"

void main() {
  if (workgroup() >= groupCount) return;
  int word = invocation(), count = plainBytes() / 4 + 1;
  if (word < min(count, capacities.x)) work[placesOfBytes.x + word] = 0u;
  // Stuffing at most doubles them.
  if (word < min(2 * count, capacities.y)) bytes[placesOfBytes.w + 4 + word] = 0u;
}
