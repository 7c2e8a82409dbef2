#version 300 es
// Copies a plane, or pixels, stored four per texel, with rows and columns exchanged and either reversed.
precision highp float;
precision highp int;
#include "place.glsl"
#include "output.glsl"

uniform ivec2 sourceSize;  // in samples
uniform bvec2 flips;       // along the source's columns and rows

#ifdef WRITES_PIXELS
uniform highp usampler2D source;
#ifdef READS_BY_TURNS
uniform highp usampler2D secondSource;  // alternate texels
#endif
#define QUAD uvec4
#define WRITE writePixels
#else
uniform highp sampler2D source;
#define QUAD vec4
#define WRITE writePlane
#endif

QUAD fetched(int texel, int row) {
#ifdef READS_BY_TURNS
  return (texel & 1) == 0 ? texelFetch(source, ivec2(texel >> 1, row), 0) : texelFetch(secondSource, ivec2(texel >> 1, row), 0);
#else
  return texelFetch(source, ivec2(texel, row), 0);
#endif
}

void main() {
  ivec2 place = drawnPlace();
  if (isBeyond(place)) return;
  int column = flips.x ? sourceSize.x - 1 - place.y : place.y;
  QUAD quads;
  for (int index = 0; index < 4; ++index) {
    int row = min(place.x * 4 + index, sourceSize.y - 1);
    quads[index] = fetched(column >> 2, flips.y ? sourceSize.y - 1 - row : row)[column & 3];
  }
  WRITE(place, quads);
}
