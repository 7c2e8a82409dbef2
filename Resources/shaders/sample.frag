#version 300 es
#ifdef IS_EXTERNAL
#extension GL_OES_EGL_image_external_essl3 : require
#endif
// The only pass if at most two by two samples make an output: the nearest one (the only one if a picture is
// copied), or those around the output. Makes four neighbouring outputs at a time.
//
// A texel of a table of columns has a word for each of them: the first sample, and above 17 bits the weight of the next.
precision highp float;
precision highp int;
#include "place.glsl"

#include "taps.glsl"

#include "store.glsl"
#include "convert.glsl"

#ifdef HAS_WINDOWS
// All samples of a row that four outputs read are within sixteen bytes from a pair of words on.

uvec4 windowAt(highp STORE plane, ivec4 store, int pair, int row) {
  return uvec4(twoWords(plane, store, pair, row), twoWords(plane, store, pair + 1, row));
}

vec4 codesIn(uvec4 window, ivec4 offsets) {
  bvec4 isOdd = notEqual(offsets & 4, ivec4(0));
  uvec4 low = uvec4(
    isOdd.x ? window.y : window.x, isOdd.y ? window.y : window.x, isOdd.z ? window.y : window.x,
    isOdd.w ? window.y : window.x);
  uvec4 high = uvec4(
    isOdd.x ? window.w : window.z, isOdd.y ? window.w : window.z, isOdd.z ? window.w : window.z,
    isOdd.w ? window.w : window.z);
  uvec4 words = uvec4(
    offsets.x < 8 ? low.x : high.x, offsets.y < 8 ? low.y : high.y, offsets.z < 8 ? low.z : high.z,
    offsets.w < 8 ? low.w : high.w);
  return vec4(words >> (uvec4(offsets & 3) << 3u) & 255u);
}
#endif

uniform int lastOutput;     // the last column
uniform highp TABLE coverageRows;
uniform highp TABLE coverageColumns;
uniform ivec2 firstCoverage; // the first texels in the tables: columns, rows

#ifdef READS_LUMA
uniform highp STORE lumaPlane;
uniform ivec4 lumaStore;
uniform int lumaFirst;      // the first sample's byte
uniform int lumaStep;       // bytes from one sample to the next
uniform highp TABLE lumaColumns;
uniform highp TABLE lumaRows;
uniform int lumaTotal;      // the sum of the weights of columns
uniform float lumaScale;    // from sums to codes
#endif
#ifdef READS_CHROMA
uniform highp STORE cbPlane;
uniform highp STORE crPlane;
uniform ivec4 cbStore;
uniform ivec4 crStore;
uniform ivec2 chromaFirst;  // the first bytes of Cb and Cr
uniform int chromaStep;
uniform highp TABLE chromaColumns;
uniform highp TABLE chromaRows;
uniform int chromaTotal;
uniform float chromaScale;
#endif
#ifdef READS_RGB
uniform highp STORE rgbPlane;
uniform ivec4 rgbStore;
uniform ivec3 rgbFirst;     // the first bytes of R, G and B
uniform int rgbStep;
uniform highp TABLE rgbColumns;
uniform highp TABLE rgbRows;
uniform int rgbTotal;
uniform float rgbScale;
#ifdef HAS_ALPHA
uniform vec3 behind;
#endif
#endif

vec4 first = vec4(128.0);
vec4 second = vec4(128.0);
vec4 third = vec4(128.0);

#ifdef READS_LUMA
void addLuma(ivec4 bytes, int row, vec4 weights) {
  first += weights * codesAt(lumaPlane, lumaStore, bytes + lumaFirst, row);
}
#endif
#ifdef READS_CHROMA
void addChroma(ivec4 bytes, int row, vec4 weights) {
  second += weights * codesAt(cbPlane, cbStore, bytes + chromaFirst.x, row);
  third += weights * codesAt(crPlane, crStore, bytes + chromaFirst.y, row);
}
#endif
#ifdef READS_RGB
void addRGB(vec4 red, vec4 green, vec4 blue, vec4 alpha, vec4 weights) {
#ifdef HAS_ALPHA
  alpha /= 255.0;
  red = mix(vec4(behind.x), red, alpha);
  green = mix(vec4(behind.y), green, alpha);
  blue = mix(vec4(behind.z), blue, alpha);
#endif
  first += weights * red;
  second += weights * green;
  third += weights * blue;
}

#ifdef IS_WIDE
void addRGB(ivec4 bytes, int row, vec4 weights) {
  addRGB(
    codesAt(rgbPlane, rgbStore, bytes + rgbFirst.x, row), codesAt(rgbPlane, rgbStore, bytes + rgbFirst.y, row),
    codesAt(rgbPlane, rgbStore, bytes + rgbFirst.z, row),
#ifdef HAS_ALPHA
    codesAt(rgbPlane, rgbStore, bytes + 6, row),
#else
    vec4(255.0),
#endif
    weights);
}
#else
// A pixel's bytes are a word, of which three bytes count if that many are stored.
void addRGB(uvec4 words, vec4 weights) {
  uvec3 shifts = uvec3(rgbFirst) * 8u;
  addRGB(
    vec4(words >> shifts.x & 255u), vec4(words >> shifts.y & 255u), vec4(words >> shifts.z & 255u),
    vec4(words >> 24u), weights);
}

#if READS_RGB == 3
// Eight bytes from any byte on.
uvec2 wordsFrom(int byte, int row) {
  uvec2 near = twoWords(rgbPlane, rgbStore, byte >> 3, row);
  uvec2 far = twoWords(rgbPlane, rgbStore, (byte >> 3) + 1, row);
  uvec3 words = (byte & 4) == 0 ? uvec3(near, far.x) : uvec3(near.y, far);
  uint shift = uint(byte & 3) * 8u;
  // In two steps, because a shift by 32 is undefined.
  return words.xy >> shift | (words.yz << (31u - shift)) << 1u;
}
#endif
#endif
#endif

// All taps of four outputs. Not in a loop, which would cost a software renderer as much as two taps.
#define FIRST_TAPS(COLUMNS, ROWS, STEP) \
  uvec4 words = tableTexel(COLUMNS, place.x); \
  ivec4 bytes = ivec4(words & 131071u) * STEP; \
  vec4 rows = tapsAt(ROWS, place.y);
#ifdef HAS_NEIGHBOURS
#define ADD_TAPS(ADD_ROW, COLUMNS, ROWS, STEP, TOTAL) \
  FIRST_TAPS(COLUMNS, ROWS, STEP) \
  vec4 next = vec4(words >> 17u); \
  vec4 here = float(TOTAL) - next; \
  ADD_ROW(bytes, int(rows.x), rows.y * here, rows.y * next); \
  ADD_ROW(bytes, int(rows.z), rows.w * here, rows.w * next);
#else
#define ADD_TAPS(ADD_ROW, COLUMNS, ROWS, STEP, TOTAL) \
  FIRST_TAPS(COLUMNS, ROWS, STEP) \
  ADD_ROW(bytes, int(rows.x), vec4(1.0), vec4(0.0));
#endif

#ifdef READS_LUMA
void addLumaRow(ivec4 bytes, int row, vec4 here, vec4 next) {
#ifdef HAS_WINDOWS
  bytes += lumaFirst;
  // The bytes of mirrored outputs descend.
  int pair = min(bytes.x, bytes.w) >> 3;
  uvec4 window = windowAt(lumaPlane, lumaStore, pair, row);
  bytes -= pair << 3;
  first += here * codesIn(window, bytes);
  first += next * codesIn(window, bytes + lumaStep);
#else
  addLuma(bytes, row, here);
#ifdef HAS_NEIGHBOURS
  addLuma(bytes + lumaStep, row, next);
#endif
#endif
}
#endif
#ifdef READS_CHROMA
void addChromaRow(ivec4 bytes, int row, vec4 here, vec4 next) {
#ifdef HAS_WINDOWS
  int pair = (min(bytes.x, bytes.w) + min(chromaFirst.x, chromaFirst.y)) >> 3;
  uvec4 cb = windowAt(cbPlane, cbStore, pair, row);
#ifdef CHROMA_IS_APART
  uvec4 cr = windowAt(crPlane, crStore, pair, row);
#else
  uvec4 cr = cb;
#endif
  bytes -= pair << 3;
  ivec4 after = bytes + chromaStep;
  second += here * codesIn(cb, bytes + chromaFirst.x);
  second += next * codesIn(cb, after + chromaFirst.x);
  third += here * codesIn(cr, bytes + chromaFirst.y);
  third += next * codesIn(cr, after + chromaFirst.y);
#else
  addChroma(bytes, row, here);
#ifdef HAS_NEIGHBOURS
  addChroma(bytes + chromaStep, row, next);
#endif
#endif
}
#endif
#ifdef READS_RGB
void addRGBRow(ivec4 bytes, int row, vec4 here, vec4 next) {
#ifdef IS_WIDE
  addRGB(bytes, row, here);
#ifdef HAS_NEIGHBOURS
  addRGB(bytes + rgbStep, row, next);
#endif
#else
  uvec4 words, nextWords;
  for (int index = 0; index < 4; ++index) {
#if READS_RGB == 3
    uvec2 both = wordsFrom(bytes[index], row);
    words[index] = both.x;
    nextWords[index] = both.x >> 24u | both.y << 8u;
#else
    words[index] = wordAt(rgbPlane, rgbStore, bytes[index] >> 2, row);
#ifdef HAS_NEIGHBOURS
    nextWords[index] = wordAt(rgbPlane, rgbStore, (bytes[index] >> 2) + 1, row);
#endif
#endif
  }
  addRGB(words, here);
#ifdef HAS_NEIGHBOURS
  addRGB(nextWords, next);
#endif
#endif
}
#endif

void main() {
  ivec2 place = drawnPlace();
  if (isBeyond(place)) return;
  int x = place.x * 4;
#ifdef READS_LUMA
  {
    first = vec4(0.0);
    ADD_TAPS(addLumaRow, lumaColumns, lumaRows, lumaStep, lumaTotal)
    first *= lumaScale;
  }
#endif
#ifdef READS_CHROMA
  {
    second = third = vec4(0.0);
    ADD_TAPS(addChromaRow, chromaColumns, chromaRows, chromaStep, chromaTotal)
    second *= chromaScale;
    third *= chromaScale;
  }
#endif
#ifdef READS_RGB
  {
    first = second = third = vec4(0.0);
    ADD_TAPS(addRGBRow, rgbColumns, rgbRows, rgbStep, rgbTotal)
    first *= rgbScale;
    second *= rgbScale;
    third *= rgbScale;
  }
#endif
  vec4 coverage = vec4(1.0);
  // A loop, because it costs nothing if it is not entered.
  for (int index = 0; index < barCount; ++index) {
    for (int column = 0; column < 4; ++column) {
      coverage[column] = tapsAt(coverageColumns, firstCoverage.x + min(x + column, lastOutput)).x;
    }
    coverage *= tapsAt(coverageRows, firstCoverage.y + place.y).x;
  }
  convert(place, first, second, third, coverage);
}
