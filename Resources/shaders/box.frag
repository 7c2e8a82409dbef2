#version 300 es
// Shrinks planes by areas, four neighbouring outputs a fragment: one component of Y'CbCr, two at once, or whole pixels.
precision highp float;
precision highp int;

#include "taps.glsl"
#include "box.glsl"

uniform bool reversesColumns;
uniform vec4 firstOutput;   // the row of the conversion, then its offset
uniform vec4 secondOutput;
uniform vec4 thirdOutput;

#ifdef LUMA_TEXELS
uniform highp usampler2D lumaPlane;
uniform highp sampler2D lumaColumns;  // for each four outputs: the first texel, where the first box begins
uniform highp sampler2D lumaRows;
uniform int lumaRowTaps;
uniform vec4 lumaByte;
uniform float lumaRatio;              // samples to an output
uniform ivec3 lumaSpan;               // first and last sample that belong to the crop; last texel
DEFINE_BOXES(addLumaRows, spreadLuma, LUMA_TEXELS, LUMA_SAMPLES)
#endif

#ifdef CHROMA_TEXELS
uniform highp usampler2D cbPlane;
uniform highp usampler2D crPlane;
uniform highp sampler2D chromaColumns;
uniform highp sampler2D chromaRows;
uniform int chromaRowTaps;
uniform vec4 cbByte;
uniform vec4 crByte;
uniform float chromaRatio;
uniform ivec3 chromaSpan;
DEFINE_BOXES(addChromaRows, spreadChroma, CHROMA_TEXELS, CHROMA_SAMPLES)
#endif

#ifdef WRITES_PIXELS
layout(location = 0) out uvec4 pixels;
#else
layout(location = 0) out vec4 plane;
#ifdef WRITES_TWO_PLANES
layout(location = 1) out vec4 secondPlane;
#endif
#endif

vec4 luma = vec4(0.0);
vec4 cb = vec4(128.0);
vec4 cr = vec4(128.0);

vec4 converted(vec4 outputRow) {
  vec4 codes = outputRow.x * luma + outputRow.y * cb + outputRow.z * cr + outputRow.w;
  codes = floor(clamp(codes, 0.0, 255.0) + 0.5);
  return reversesColumns ? codes.wzyx : codes;
}

void main() {
  ivec2 place = ivec2(gl_FragCoord.xy);
#ifdef LUMA_TEXELS
  {
    vec2 column = tableEntry(lumaColumns, place.x);
    int first = int(column.x);
    vec2 span = vec2(lumaSpan.xy - first * LUMA_SAMPLES);
    vec4 sums[LUMA_TEXELS];
    addLumaRows(lumaPlane, lumaRows, lumaRowTaps, place.y, first, lumaSpan.z, sums);
    luma = spreadLuma(sums, lumaByte, vec2(column.y, lumaRatio), span);
  }
#endif
#ifdef CHROMA_TEXELS
  {
    vec2 column = tableEntry(chromaColumns, place.x);
    int first = int(column.x);
    vec2 span = vec2(chromaSpan.xy - first * CHROMA_SAMPLES);
    vec4 sums[CHROMA_TEXELS];
    addChromaRows(cbPlane, chromaRows, chromaRowTaps, place.y, first, chromaSpan.z, sums);
    cb = spreadChroma(sums, cbByte, vec2(column.y, chromaRatio), span);
#ifdef CHROMA_IS_APART
    addChromaRows(crPlane, chromaRows, chromaRowTaps, place.y, first, chromaSpan.z, sums);
#endif
    cr = spreadChroma(sums, crByte, vec2(column.y, chromaRatio), span);
  }
#endif
#ifdef WRITES_PIXELS
  uvec4 red = uvec4(converted(firstOutput));
  uvec4 green = uvec4(converted(secondOutput));
  uvec4 blue = uvec4(converted(thirdOutput));
  pixels = red | green << 8u | blue << 16u | 0xff000000u;
#else
  plane = converted(firstOutput) / 255.0;
#ifdef WRITES_TWO_PLANES
  secondPlane = converted(secondOutput) / 255.0;
#endif
#endif
}
