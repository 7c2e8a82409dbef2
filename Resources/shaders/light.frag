#version 300 es
// The first of two passes in linear light: adds up weighted rows of the light of four neighbouring pixels at a time.
// The sums of red, green and blue light, times 255, are written as the bits of floats.
precision highp float;
precision highp int;

#include "taps.glsl"
#include "store.glsl"
#include "light.glsl"
#include "fold.glsl"

uniform int firstSample;
uniform ivec2 planeFold;
uniform highp TABLE planeRows;      // the taps of each output row
uniform int pairCount;              // half as many, rounded up

#ifdef READS_RGB
uniform highp STORE rgbPlane;
uniform ivec4 rgbStore;
uniform int rgbStep;                // bytes from one pixel to the next
uniform ivec3 rgbFirst;             // the first bytes of R, G and B
#ifdef HAS_ALPHA
uniform vec3 behind;
#endif
#else
uniform highp STORE lumaPlane;
uniform ivec4 lumaStore;
uniform int lumaStep;
uniform int lumaFirst;
uniform vec4 redRow;                // the rows of the matrix to R'G'B', then their offsets
uniform vec4 greenRow;
uniform vec4 blueRow;
#ifdef READS_CHROMA
uniform highp STORE cbPlane;
uniform highp STORE crPlane;
uniform ivec4 cbStore;
uniform ivec4 crStore;
uniform int chromaStep;
uniform ivec2 chromaFirst;          // the first bytes of Cb and Cr
uniform vec2 chromaScale;           // chroma samples per pixel
uniform vec2 chromaSiting;          // added to a pixel's position times the scale
uniform ivec4 chromaSpan;           // first column and row, last column and row of the crop
#endif
#endif

layout(location = 0) out uvec4 redSum;
layout(location = 1) out uvec4 greenSum;
layout(location = 2) out uvec4 blueSum;

#ifdef READS_CHROMA
vec4 chromaAt(highp STORE plane, ivec4 store, int first, ivec4 left, ivec4 right, vec4 across, ivec2 rows, float down) {
  vec4 top = mix(codesAt(plane, store, left + first, rows.x), codesAt(plane, store, right + first, rows.x), across);
  vec4 bottom = mix(codesAt(plane, store, left + first, rows.y), codesAt(plane, store, right + first, rows.y), across);
  return mix(top, bottom, down);
}
#endif

void main() {
  ivec2 place = unfolded(ivec2(gl_FragCoord.xy), planeFold);
  ivec4 samples = firstSample + place.x * 4 + ivec4(0, 1, 2, 3);
  vec4 sums[3];
  sums[0] = sums[1] = sums[2] = vec4(0.0);
#ifdef READS_CHROMA
  vec4 column = (vec4(samples) + 0.5) * chromaScale.x + (chromaSiting.x - 0.5);
  vec4 corner = floor(column);
  vec4 across = column - corner;
  ivec4 left = clamp(ivec4(corner), chromaSpan.x, chromaSpan.z) * chromaStep;
  ivec4 right = clamp(ivec4(corner) + 1, chromaSpan.x, chromaSpan.z) * chromaStep;
#endif
  for (int index = 0; index < pairCount * 2; ++index) {
    vec4 taps = tapsAt(planeRows, place.y * pairCount + (index >> 1));
    vec2 tap = (index & 1) == 0 ? taps.xy : taps.zw;
    int row = int(tap.x);
#ifdef READS_RGB
    ivec4 bytes = samples * rgbStep;
    vec4 red = codesAt(rgbPlane, rgbStore, bytes + rgbFirst.x, row);
    vec4 green = codesAt(rgbPlane, rgbStore, bytes + rgbFirst.y, row);
    vec4 blue = codesAt(rgbPlane, rgbStore, bytes + rgbFirst.z, row);
#ifdef HAS_ALPHA
#ifdef IS_WIDE
    vec4 alpha = codesAt(rgbPlane, rgbStore, bytes + 6, row) / 255.0;
#else
    vec4 alpha = codesAt(rgbPlane, rgbStore, bytes + 3, row) / 255.0;
#endif
    red = mix(vec4(behind.r), red, alpha);
    green = mix(vec4(behind.g), green, alpha);
    blue = mix(vec4(behind.b), blue, alpha);
#endif
#else
    vec4 luma = codesAt(lumaPlane, lumaStore, samples * lumaStep + lumaFirst, row);
    vec4 cb = vec4(128.0);
    vec4 cr = vec4(128.0);
#ifdef READS_CHROMA
    float line = (float(row) + 0.5) * chromaScale.y + (chromaSiting.y - 0.5);
    float above = floor(line);
    ivec2 rows = clamp(ivec2(int(above), int(above) + 1), chromaSpan.y, chromaSpan.w);
    cb = chromaAt(cbPlane, cbStore, chromaFirst.x, left, right, across, rows, line - above);
    cr = chromaAt(crPlane, crStore, chromaFirst.y, left, right, across, rows, line - above);
#endif
    vec4 red = redRow.x * luma + redRow.y * cb + redRow.z * cr + redRow.w;
    vec4 green = greenRow.x * luma + greenRow.y * cb + greenRow.z * cr + greenRow.w;
    vec4 blue = blueRow.x * luma + blueRow.y * cb + blueRow.z * cr + blueRow.w;
#endif
    sums[0] += tap.y * lightFromCodes(red);
    sums[1] += tap.y * lightFromCodes(green);
    sums[2] += tap.y * lightFromCodes(blue);
  }
  redSum = floatBitsToUint(sums[0]);
  greenSum = floatBitsToUint(sums[1]);
  blueSum = floatBitsToUint(sums[2]);
}
