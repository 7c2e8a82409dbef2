#version 300 es
#ifdef IS_EXTERNAL
#extension GL_OES_EGL_image_external_essl3 : require
#endif
// The first of two passes: adds up weighted rows of a stored plane, sixteen neighbouring bytes of any
// component at a time, or every other of thirty-two bytes. The sums are halves of words, in the order of the
// bytes.
precision highp float;
precision highp int;
#include "place.glsl"

#include "taps.glsl"
#include "store.glsl"
#include "fold.glsl"

uniform highp STORE plane;
uniform ivec4 planeStore;
uniform int firstColumn;           // in columns of sixteen samples
uniform ivec2 planeFold;
uniform highp TABLE planeRows;     // per output row: a run with one weight, then single rows, two per texel
uniform int pairCount;             // texels of single rows
uniform vec2 stored;               // a sum's factor, and the offset that rounds it
#ifdef TAKES_HALVES
uniform int halfShift;             // 0 for every other byte from the first, 8 from the second
#endif
#ifdef HAS_ALPHA
uniform vec3 behind;               // in the order of the bytes
#endif

layout(location = 0) out uvec4 firstSums;   // of samples 0 to 7
layout(location = 1) out uvec4 secondSums;  // of samples 8 to 15

// The sums of the even and of the odd samples among eight.
struct Sums { vec4 even; vec4 odd; };

Sums first = Sums(vec4(0.0), vec4(0.0));
Sums second = Sums(vec4(0.0), vec4(0.0));

void add(inout Sums sums, vec4 even, vec4 odd, float weight) {
#ifdef HAS_ALPHA
  vec2 alpha = odd.yw / 255.0;
  even = mix(behind.xzxz, even, alpha.xxyy);
  odd.xz = mix(behind.yy, odd.xz, alpha);
#endif
  sums.even += weight * even;
  sums.odd += weight * odd;
}

void addWords(inout Sums sums, uvec2 words, float weight) {
  add(
    sums, vec4(words.x & 255u, words.x >> 16u & 255u, words.y & 255u, words.y >> 16u & 255u),
    vec4(words.x >> 8u & 255u, words.x >> 24u, words.y >> 8u & 255u, words.y >> 24u), weight);
}

#ifdef TAKES_HALVES
// Two samples per word.
uvec4 halves(int x, int row) { return fourWords(plane, planeStore, x, row) >> halfShift & 0x00ff00ffu; }
#endif

void addRow(int column, int row, float weight) {
#ifdef IS_WIDE
  uvec4 words = fourWords(plane, planeStore, column * 2, row);
  add(first, vec4(words & 65535u) / 257.0, vec4(words >> 16u) / 257.0, weight);
  words = fourWords(plane, planeStore, column * 2 + 1, row);
  add(second, vec4(words & 65535u) / 257.0, vec4(words >> 16u) / 257.0, weight);
#elif defined(TAKES_HALVES)
  uvec4 words = halves(column * 2, row);
  add(first, vec4(words & 255u), vec4(words >> 16u), weight);
  words = halves(column * 2 + 1, row);
  add(second, vec4(words & 255u), vec4(words >> 16u), weight);
#else
  uvec4 words = fourWords(plane, planeStore, column, row);
  addWords(first, words.xy, weight);
  addWords(second, words.zw, weight);
#endif
}

// Adds rows that have one weight, with sixteen bits for each sample of up to 256 rows, and weighs the sums.
void addRun(int column, int row, int count, float weight) {
#if defined(IS_WIDE) || defined(HAS_ALPHA)
  for (int index = 0; index < count; ++index) addRow(column, row + index, weight);
#else
  for (int end = row + count; row < end;) {
    int pause = min(row + 256, end);
    uvec4 a = uvec4(0u);
    uvec4 b = uvec4(0u);
#ifdef TAKES_HALVES
    do {
      a += halves(column * 2, row);
      b += halves(column * 2 + 1, row);
    } while (++row < pause);
    add(first, vec4(a & 65535u), vec4(a >> 16u), weight);
    add(second, vec4(b & 65535u), vec4(b >> 16u), weight);
#else
    do {
      uvec4 words = fourWords(plane, planeStore, column, row);
      a += words & 0x00ff00ffu;
      b += words >> 8u & 0x00ff00ffu;
    } while (++row < pause);
    uvec4 evenLow = a & 65535u, evenHigh = a >> 16u, oddLow = b & 65535u, oddHigh = b >> 16u;
    add(
      first, vec4(evenLow.x, evenHigh.x, evenLow.y, evenHigh.y), vec4(oddLow.x, oddHigh.x, oddLow.y, oddHigh.y),
      weight);
    add(
      second, vec4(evenLow.z, evenHigh.z, evenLow.w, evenHigh.w),
      vec4(oddLow.z, oddHigh.z, oddLow.w, oddHigh.w), weight);
#endif
  }
#endif
}

uvec4 rounded(Sums sums) {
  uvec4 low = uvec4(sums.even * stored.x + stored.y);
  uvec4 high = uvec4(sums.odd * stored.x + stored.y);
  return low | high << 16u;
}

void main() {
  ivec2 place = unfolded(drawnPlace(), planeFold);
  int column = firstColumn + place.x;
  int record = place.y * (1 + pairCount);
  uvec4 run = tableTexel(planeRows, record);
  addRun(column, int(run.x), int(run.y), uintBitsToFloat(run.z));
  // Two taps at a time, because fetching taps costs as much as fetching samples. The test is at the end: with
  // a test at the start, llvmpipe takes a tenth longer.
  int index = 0;
  do {
    vec4 taps = tapsAt(planeRows, record + 1 + index);
    addRow(column, int(taps.x), taps.y);
    addRow(column, int(taps.z), taps.w);
  } while (++index < pairCount);
  firstSums = rounded(first);
  secondSums = rounded(second);
}
