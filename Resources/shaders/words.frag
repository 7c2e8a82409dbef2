#version 320 es
// Reduces planes by areas, sixteen neighbouring outputs of a plane, or eight pixels, per fragment. Rows are read
// sixteen bytes at a time and summed with two 16-bit sums per word, before any sum becomes a float.
precision highp float;
precision highp int;
#include "place.glsl"

#include "words.glsl"

uniform vec4 firstOutput;   // the row of the conversion, then its offset
uniform vec4 secondOutput;
uniform vec4 thirdOutput;

#ifdef LUMA_TEXELS
uniform highp usamplerBuffer lumaWords;
uniform ivec2 lumaStore;   // in the buffer: the first texel; texels per row
uniform ivec2 lumaGroups;  // the first byte of group 0; bytes to the next group
uniform ivec4 lumaRows;    // start of row 0's box, step to the next row's box, both in units; first and last row
uniform ivec3 lumaSpan;    // first and last sample of the crop, from the first of group 0; samples to the next group
DEFINE_SUM(sumLuma, LUMA_TEXELS, LUMA_ROWS, LUMA_UNIT, LUMA_HEIGHT)
DEFINE_ALIGN(alignLuma, LUMA_TEXELS, LUMA_SHIFTS)
DEFINE_MEANS(meansOfLuma, lumaBox, LUMA_TEXELS, LUMA_SAMPLES, LUMA_STEP, LUMA_BYTE, LUMA_START, LUMA_WIDTH, LUMA_HEIGHT)
#endif

#ifdef CHROMA_TEXELS
uniform highp usamplerBuffer cbWords;
uniform ivec2 cbStore;
#ifdef CHROMA_IS_APART
uniform highp usamplerBuffer crWords;
uniform ivec2 crStore;
#endif
uniform ivec2 chromaGroups;
uniform ivec4 chromaRows;
uniform ivec3 chromaSpan;
DEFINE_SUM(sumChroma, CHROMA_TEXELS, CHROMA_ROWS, CHROMA_UNIT, CHROMA_HEIGHT)
DEFINE_ALIGN(alignChroma, CHROMA_TEXELS, CHROMA_SHIFTS)
DEFINE_MEANS(meansOfCb, cbBox, CHROMA_TEXELS, CHROMA_SAMPLES, CHROMA_STEP, CB_BYTE, CHROMA_START, CHROMA_WIDTH, CHROMA_HEIGHT)
DEFINE_MEANS(meansOfCr, crBox, CHROMA_TEXELS, CHROMA_SAMPLES, CHROMA_STEP, CR_BYTE, CHROMA_START, CHROMA_WIDTH, CHROMA_HEIGHT)
#endif

layout(location = 0) out uvec4 first;
#ifdef WRITES_PIXELS
layout(location = 1) out uvec4 second;  // the next four pixels
#elif defined(WRITES_TWO_PLANES)
layout(location = 1) out uvec4 second;
#ifdef WRITES_CODES
layout(location = 2) out uvec4 firstCodes;
layout(location = 3) out uvec4 secondCodes;
#endif
#elif defined(WRITES_CODES)
layout(location = 1) out uvec4 firstCodes;
#endif

vec4 luma[QUADS];
vec4 cb[QUADS];
vec4 cr[QUADS];

vec4 converted(vec4 outputRow, int quad) {
  return outputRow.x * luma[quad] + outputRow.y * cb[quad] + outputRow.z * cr[quad] + outputRow.w;
}

#ifndef WRITES_PIXELS
uvec4 convertedBytes(vec4 outputRow) {
  return uvec4(
    bytes(converted(outputRow, 0)), bytes(converted(outputRow, 1)), bytes(converted(outputRow, 2)),
    bytes(converted(outputRow, 3)));
}
#endif

void main() {
  ivec2 place = drawnPlace();
  for (int quad = 0; quad < QUADS; ++quad) luma[quad] = cb[quad] = cr[quad] = vec4(128.0);
#ifdef LUMA_TEXELS
  {
    uint even[LUMA_TEXELS * 4 + 2];
    uint odd[LUMA_TEXELS * 4 + 2];
    int byte = lumaGroups.x + place.x * lumaGroups.y;
    ivec2 span = lumaSpan.xy - place.x * lumaSpan.z;
    sumLuma(lumaWords, lumaStore, byte >> 4, lumaRows, place.y, even, odd);
    alignLuma(byte, even, odd);
    meansOfLuma(even, odd, span, luma);
  }
#endif
#ifdef CHROMA_TEXELS
  {
    uint even[CHROMA_TEXELS * 4 + 2];
    uint odd[CHROMA_TEXELS * 4 + 2];
    int byte = chromaGroups.x + place.x * chromaGroups.y;
    ivec2 span = chromaSpan.xy - place.x * chromaSpan.z;
    sumChroma(cbWords, cbStore, byte >> 4, chromaRows, place.y, even, odd);
    alignChroma(byte, even, odd);
    meansOfCb(even, odd, span, cb);
#ifdef CHROMA_IS_APART
    sumChroma(crWords, crStore, byte >> 4, chromaRows, place.y, even, odd);
    alignChroma(byte, even, odd);
#endif
    meansOfCr(even, odd, span, cr);
  }
#endif
#ifdef WRITES_PIXELS
  first = pixels(converted(firstOutput, 0), converted(secondOutput, 0), converted(thirdOutput, 0));
  second = pixels(converted(firstOutput, 1), converted(secondOutput, 1), converted(thirdOutput, 1));
#else
  first = convertedBytes(firstOutput);
#ifdef WRITES_TWO_PLANES
  second = convertedBytes(secondOutput);
#ifdef WRITES_CODES
  firstCodes = uvec4(bytes(cb[0]), bytes(cb[1]), bytes(cb[2]), bytes(cb[3]));
  secondCodes = uvec4(bytes(cr[0]), bytes(cr[1]), bytes(cr[2]), bytes(cr[3]));
#endif
#elif defined(WRITES_CODES)
  firstCodes = uvec4(bytes(luma[0]), bytes(luma[1]), bytes(luma[2]), bytes(luma[3]));
#endif
#endif
}
