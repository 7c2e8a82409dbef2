#version 300 es
// Makes Y'CbCr planes of a composed picture stored as four pixels per texel: sixteen samples of Y', or of Cb and Cr,
// per fragment.
precision highp float;
precision highp int;
#include "place.glsl"

uniform highp usampler2D picture;
uniform ivec2 lastPixel;    // column and row; pixels beyond it use the edge's
uniform vec4 firstOutput;   // the row of the conversion, then its offset
uniform vec4 secondOutput;

layout(location = 0) out uvec4 plane;
#ifdef WRITES_TWO_PLANES
layout(location = 1) out uvec4 secondPlane;
#endif

// Four pixels; beyond a row's end, its last pixel is repeated.
uvec4 quad(int x, int y) {
  int lastTexel = lastPixel.x >> 2;
  uvec4 words = texelFetch(picture, ivec2(min(x, lastTexel), min(y, lastPixel.y)), 0);
  ivec4 past = ivec4(0, 1, 2, 3) + (x * 4 - lastPixel.x);
  uint last = words[lastPixel.x & 3];
  return uvec4(
    past.x > 0 ? last : words.x, past.y > 0 ? last : words.y, past.z > 0 ? last : words.z,
    past.w > 0 ? last : words.w);
}

uvec4 converted(vec4 row, vec4 red, vec4 green, vec4 blue) {
  vec4 codes = row.x * red + row.y * green + row.z * blue + (row.w + 0.5 + 1.0 / 16384.0);
  return uvec4(clamp(codes, 0.0, 255.0));
}

uint word(uvec4 bytes) { return bytes.x | bytes.y << 8u | bytes.z << 16u | bytes.w << 24u; }

void main() {
  ivec2 place = drawnPlace();
  float share = 1.0 / float(STEP_X * STEP_Y);
  vec4 first = vec4(firstOutput.rgb * share, firstOutput.a);
  vec4 second = vec4(secondOutput.rgb * share, secondOutput.a);
  uvec4 words;
  uvec4 secondWords;
  for (int index = 0; index < 4; ++index) {
    // Sums of red and blue in the halves of a word, at most four codes each.
    uvec4 ends = uvec4(0u);
    uvec4 middle = uvec4(0u);
    for (int row = 0; row < STEP_Y; ++row) {
      int y = place.y * STEP_Y + row;
      int x = (place.x * 4 + index) * STEP_X;
      uvec4 one = quad(x, y);
#if STEP_X == 2
      uvec4 other = quad(x + 1, y);
      uvec4 even = uvec4(one.xz, other.xz);
      uvec4 odd = uvec4(one.yw, other.yw);
      ends += (even & 0xff00ffu) + (odd & 0xff00ffu);
      middle += (even >> 8u & 255u) + (odd >> 8u & 255u);
#else
      ends += one & 0xff00ffu;
      middle += one >> 8u & 255u;
#endif
    }
    vec4 red = vec4(ends & 0xffffu);
    vec4 green = vec4(middle);
    vec4 blue = vec4(ends >> 16u);
    words[index] = word(converted(first, red, green, blue));
#ifdef WRITES_TWO_PLANES
    secondWords[index] = word(converted(second, red, green, blue));
#endif
  }
  plane = words;
#ifdef WRITES_TWO_PLANES
  secondPlane = secondWords;
#endif
}
