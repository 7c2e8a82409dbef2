#version 300 es
// The second of two passes: weighs columns of the sums of rows, which are in textures.
precision highp float;
precision highp int;
#include "place.glsl"

#include "taps.glsl"
#include "light.glsl"
#include "fold.glsl"
#include "convert.glsl"

#ifdef TAKES_SIXTEEN
#define SUMS highp usampler2DArray
#else
#define SUMS highp usampler2D
#endif
#define LIGHT_SUMS highp usampler2D

#ifdef SUMS_LIGHT
uniform highp usampler2D redRows;
uniform highp usampler2D greenRows;
uniform highp usampler2D blueRows;
uniform ivec2 rgbFold;
#endif
#ifdef READS_LUMA
uniform SUMS lumaRows;
uniform ivec2 lumaFold;
#endif
#ifdef READS_CHROMA
uniform SUMS cbRows;
#ifdef CHROMA_IS_APART
uniform SUMS crRows;
#endif
uniform ivec2 chromaFold;
#endif
#ifdef RGB_BYTES
uniform SUMS rgbRows;
uniform ivec2 rgbFold;
#endif

#ifdef TAKES_SIXTEEN
// Each place has two texels of sums, in two layers.
uvec4 sumsAt(SUMS rows, int texel, int row, ivec2 fold) {
  return texelFetch(rows, ivec3(folded(ivec2(texel >> 1, row), fold), texel & 1), 0);
}
#else
uvec4 sumsAt(SUMS rows, int texel, int row, ivec2 fold) {
  return texelFetch(rows, folded(ivec2(texel, row), fold), 0);
}
#endif

uvec4 lightSumsAt(LIGHT_SUMS rows, int texel, int row, ivec2 fold) {
  return texelFetch(rows, folded(ivec2(texel, row), fold), 0);
}

#include "columns.glsl"

void main() {
  ivec2 place = drawnPlace();
  weigh(place, place.y);
}
