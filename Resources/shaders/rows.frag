#version 300 es
// The first of two passes: adds up weighted rows of a stored plane, eight neighbouring bytes at a time, whatever they
// mean, or every other of sixteen bytes. The sums are halves of words, in the order of the bytes.
precision highp float;
precision highp int;

#include "taps.glsl"
#include "store.glsl"
#include "fold.glsl"

uniform highp STORE plane;
uniform ivec4 planeStore;
uniform int firstTexel;            // of eight samples
uniform ivec2 planeFold;
uniform highp TABLE planeRows;     // the taps of each output row
uniform int pairCount;             // half as many, rounded up
uniform vec2 stored;               // a sum's factor, and what is added to round it
#ifdef TAKES_HALVES
uniform int halfShift;             // 0 for every other byte from the first, 8 from the second
#endif
#ifdef HAS_ALPHA
uniform vec3 behind;               // in the order of the bytes
#endif

layout(location = 0) out uvec4 sums;

// Of samples 0, 2, 4 and 6, and of samples 1, 3, 5 and 7.
vec4 even = vec4(0.0);
vec4 odd = vec4(0.0);

void addRow(int texel, int row, float weight) {
#ifdef IS_WIDE
  uvec4 words = fourWords(plane, planeStore, texel, row);
  vec4 evenCodes = vec4(words & 65535u) / 257.0;
  vec4 oddCodes = vec4(words >> 16u) / 257.0;
#elif defined(TAKES_HALVES)
  uvec4 words = fourWords(plane, planeStore, texel, row) >> halfShift;
  vec4 evenCodes = vec4(words & 255u);
  vec4 oddCodes = vec4(words >> 16u & 255u);
#else
  uvec2 words = twoWords(plane, planeStore, texel, row);
  vec4 evenCodes = vec4(words.x & 255u, words.x >> 16u & 255u, words.y & 255u, words.y >> 16u & 255u);
  vec4 oddCodes = vec4(words.x >> 8u & 255u, words.x >> 24u, words.y >> 8u & 255u, words.y >> 24u);
#endif
#ifdef HAS_ALPHA
  vec2 alpha = oddCodes.yw / 255.0;
  evenCodes = mix(behind.xzxz, evenCodes, alpha.xxyy);
  oddCodes.xz = mix(behind.yy, oddCodes.xz, alpha);
#endif
  even += weight * evenCodes;
  odd += weight * oddCodes;
}

void main() {
  ivec2 place = unfolded(ivec2(gl_FragCoord.xy), planeFold);
  int texel = firstTexel + place.x;
  // Two taps at a time: fetching them costs as much as fetching what they weigh.
  for (int index = 0; index < pairCount; ++index) {
    vec4 taps = tapsAt(planeRows, place.y * pairCount + index);
    addRow(texel, int(taps.x), taps.y);
    addRow(texel, int(taps.z), taps.w);
  }
  uvec4 low = uvec4(even * stored.x + stored.y);
  uvec4 high = uvec4(odd * stored.x + stored.y);
  sums = low | high << 16u;
}
