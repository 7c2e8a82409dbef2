#version 310 es
// Copies each chunk of the scan to its place among the stuffed bytes.
precision highp float;
precision highp int;
layout(local_size_x = 64) in;
#include "jpeg.glsl"
#include "jpegchunk.glsl"

int place;
uint word = 0u;
bool isFirst = true;

// The first word and the last one also have bytes of other chunks.
void put(uint value) {
  word |= value << (8 * (place & 3));
  place++;
  if ((place & 3) > 0) return;
  if (isFirst) atomicOr(bytes[(place >> 2) - 1], word); else bytes[(place >> 2) - 1] = word;
  word = 0u;
  isFirst = false;
}

void main() {
  if (firstByte() >= lastByte() || bytes[placesOfBytes.w] == TOO_MANY) return;
  int before = int(work[placesOfBytes.y + invocation()] + work[placesOfBytes.z + workgroup()]);
  place = (placesOfBytes.w + 4) * 4 + firstByte() + before;
  for (int index = firstByte(); index < lastByte(); index++) {
    uint value = byteAt(index);
    put(value);
    if (value == 255u) put(0u);
  }
  if ((place & 3) > 0) atomicOr(bytes[place >> 2], word);
}
