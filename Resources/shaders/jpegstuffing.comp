#version 310 es
// The number of bytes 255 in each chunk of the scan, as sums over those before it: each is followed by a 0 (T.81, F.1.2.3).
precision highp float;
precision highp int;
layout(local_size_x = 64) in;
#include "jpeg.glsl"
#include "jpegchunk.glsl"
#include "jpegsums.glsl"

void main() {
  if (workgroup() >= groupCount) return;
  uint count = 0u;
  for (int index = firstByte(); index < lastByte(); index++) {
    if (byteAt(index) == 255u) count++;
  }
  addUpBefore(count, placesOfBytes.y, placesOfBytes.z);
}
