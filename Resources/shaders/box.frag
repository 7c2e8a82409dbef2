#version 300 es
// Resamples planes by areas, four neighbouring outputs per fragment: one component of Y'CbCr, two at once, or whole
// pixels.
precision highp float;
precision highp int;

#include "taps.glsl"
#include "box.glsl"

uniform bool reversesColumns;
uniform vec4 firstOutput;   // the row of the conversion, then its offset
uniform vec4 secondOutput;
uniform vec4 thirdOutput;

#ifdef LUMA_TEXELS
uniform highp sampler2D lumaPlane;
#ifdef LUMA_BOX
uniform ivec4 lumaPeriod;            // first texel and row of place (0, 0); steps to the next
#else
uniform highp sampler2D lumaColumns;  // per four columns: the first texel, the start of the first box
uniform highp sampler2D lumaRows;     // per row: the first row, the start of the box
uniform vec2 lumaRatio;               // samples per output
#endif
uniform ivec4 lumaSpan;               // first and last sample of the crop: columns, rows
uniform int lumaLastTexel;
#ifndef LUMA_ROWS
uniform int lumaRowCount;           // the most rows that a box reads
#define LUMA_ROWS lumaRowCount
#endif
DEFINE_ADD_ROWS(addLumaRows, LUMA_TEXELS, LUMA_ROWS, LUMA_ROW_WEIGHT)
DEFINE_SPREAD(spreadLuma, LUMA_TEXELS, LUMA_SAMPLES, LUMA_BYTE, LUMA_WEIGHTS, LUMA_WIDTH)
#endif

#ifdef CHROMA_TEXELS
uniform highp sampler2D cbPlane;
uniform highp sampler2D crPlane;
#ifdef CHROMA_BOX
uniform ivec4 chromaPeriod;            // first texel and row of place (0, 0); steps to the next
#else
uniform highp sampler2D chromaColumns;  // per four columns: the first texel, the start of the first box
uniform highp sampler2D chromaRows;     // per row: the first row, the start of the box
uniform vec2 chromaRatio;               // samples per output
#endif
uniform ivec4 chromaSpan;               // first and last sample of the crop: columns, rows
uniform int chromaLastTexel;
#ifndef CHROMA_ROWS
uniform int chromaRowCount;           // the most rows that a box reads
#define CHROMA_ROWS chromaRowCount
#endif
DEFINE_ADD_ROWS(addChromaRows, CHROMA_TEXELS, CHROMA_ROWS, CHROMA_ROW_WEIGHT)
DEFINE_SPREAD(spreadCb, CHROMA_TEXELS, CHROMA_SAMPLES, CB_BYTE, CHROMA_WEIGHTS, CHROMA_WIDTH)
DEFINE_SPREAD(spreadCr, CHROMA_TEXELS, CHROMA_SAMPLES, CR_BYTE, CHROMA_WEIGHTS, CHROMA_WIDTH)
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
  // Means that end in a half are common, and k / 255 * 255 falls short of k. The slack is far below any other mean.
  codes = floor(clamp(codes, 0.0, 255.0) + (0.5 + 1.0 / 2048.0));
  return reversesColumns ? codes.wzyx : codes;
}

void main() {
  ivec2 place = ivec2(gl_FragCoord.xy);
#ifdef LUMA_TEXELS
  {
    vec4 sums[LUMA_TEXELS];
#ifdef LUMA_BOX
    ivec2 first = lumaPeriod.xy + place * lumaPeriod.zw;
    vec2 box = LUMA_BOX;
    vec2 rowBox = LUMA_ROW_BOX;
#else
    vec2 column = tableEntry(lumaColumns, place.x);
    vec2 row = tableEntry(lumaRows, place.y);
    ivec2 first = ivec2(column.x, row.x);
    vec2 box = vec2(column.y, lumaRatio.x);
    vec2 rowBox = vec2(row.y, lumaRatio.y);
#endif
    vec2 span = vec2(lumaSpan.xy - first.x * LUMA_SAMPLES);
    vec2 rowSpan = vec2(lumaSpan.zw - first.y);
    addLumaRows(lumaPlane, first, lumaLastTexel, rowBox, rowSpan, lumaSpan.w, sums);
    luma = spreadLuma(sums, box, span);
  }
#endif
#ifdef CHROMA_TEXELS
  {
    vec4 sums[CHROMA_TEXELS];
#ifdef CHROMA_BOX
    ivec2 first = chromaPeriod.xy + place * chromaPeriod.zw;
    vec2 box = CHROMA_BOX;
    vec2 rowBox = CHROMA_ROW_BOX;
#else
    vec2 column = tableEntry(chromaColumns, place.x);
    vec2 row = tableEntry(chromaRows, place.y);
    ivec2 first = ivec2(column.x, row.x);
    vec2 box = vec2(column.y, chromaRatio.x);
    vec2 rowBox = vec2(row.y, chromaRatio.y);
#endif
    vec2 span = vec2(chromaSpan.xy - first.x * CHROMA_SAMPLES);
    vec2 rowSpan = vec2(chromaSpan.zw - first.y);
    addChromaRows(cbPlane, first, chromaLastTexel, rowBox, rowSpan, chromaSpan.w, sums);
    cb = spreadCb(sums, box, span);
#ifdef CHROMA_IS_APART
    addChromaRows(crPlane, first, chromaLastTexel, rowBox, rowSpan, chromaSpan.w, sums);
#endif
    cr = spreadCr(sums, box, span);
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
