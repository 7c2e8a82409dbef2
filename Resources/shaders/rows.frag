#version 300 es
// The first of two passes: adds up weighted rows of a stored plane, eight neighbouring bytes at a time, whatever they
// mean. The sums are halves of words, in the order of the bytes.
precision highp float;
precision highp int;

#include "taps.glsl"
#include "store.glsl"

uniform highp STORE plane;
uniform ivec4 planeStore;
uniform int firstTexel;            // of eight samples
uniform highp sampler2D planeRows; // the taps of each output row
uniform int tapCount;
uniform vec2 stored;               // a sum's factor, and what is added to round it
#ifdef HAS_ALPHA
uniform vec3 behind;               // in the order of the bytes
#endif

layout(location = 0) out uvec4 sums;

void main() {
  ivec2 place = ivec2(gl_FragCoord.xy);
  vec4 even = vec4(0.0);
  vec4 odd = vec4(0.0);
  for (int index = 0; index < tapCount; ++index) {
    vec2 tap = tableEntry(planeRows, place.y * tapCount + index);
#ifdef IS_WIDE
    uvec4 words = fourWords(plane, planeStore, firstTexel + place.x, int(tap.x));
    vec4 evenCodes = vec4(words & 65535u) / 257.0;
    vec4 oddCodes = vec4(words >> 16u) / 257.0;
#else
    uvec2 words = twoWords(plane, planeStore, firstTexel + place.x, int(tap.x));
    vec4 evenCodes = vec4(words.x & 255u, words.x >> 16u & 255u, words.y & 255u, words.y >> 16u & 255u);
    vec4 oddCodes = vec4(words.x >> 8u & 255u, words.x >> 24u, words.y >> 8u & 255u, words.y >> 24u);
#endif
#ifdef HAS_ALPHA
    vec2 alpha = oddCodes.yw / 255.0;
    evenCodes = mix(behind.xzxz, evenCodes, alpha.xxyy);
    oddCodes.xz = mix(behind.yy, oddCodes.xz, alpha);
#endif
    even += tap.y * evenCodes;
    odd += tap.y * oddCodes;
  }
  uvec4 low = uvec4(clamp(even * stored.x + stored.y, 0.0, 65535.0));
  uvec4 high = uvec4(clamp(odd * stored.x + stored.y, 0.0, 65535.0));
  sums = low | high << 16u;
}
