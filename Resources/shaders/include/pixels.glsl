// Reads R, G, B, A pixels drawn earlier or uploaded, each as a word with red in its lowest byte. A texel holds one
// pixel, or four (IN_QUADS); alternate texels may be in a second texture (BY_TURNS).

uniform ivec2 lastPixel;  // column and row; pixels beyond the edges use the edge's

#ifdef IN_QUADS
uniform highp usampler2D picture;
#ifdef BY_TURNS
uniform highp usampler2D secondPicture;
#endif

// The four pixels of a texel, which must be one of the picture's.
uvec4 quadAt(int x, int y) {
#ifdef BY_TURNS
  ivec2 place = ivec2(x >> 1, y);
  return (x & 1) == 0 ? texelFetch(picture, place, 0) : texelFetch(secondPicture, place, 0);
#else
  return texelFetch(picture, ivec2(x, y), 0);
#endif
}

uint pixelAt(ivec2 pixel) {
  ivec2 place = clamp(pixel, ivec2(0), lastPixel);
  return quadAt(place.x >> 2, place.y)[place.x & 3];
}

// Four neighbours from column `x` on; those beyond the edges are undefined.
uvec4 fourFrom(int x, int y) {
  int last = lastPixel.x >> 2;
  int row = clamp(y, 0, lastPixel.y);
  uvec4 first = quadAt(clamp(x >> 2, 0, last), row);
#ifdef ON_QUADS
  return first;
#else
  uvec4 second = quadAt(clamp((x >> 2) + 1, 0, last), row);
  int skipped = x & 3;
  uvec4 even = (skipped & 2) == 0 ? first : uvec4(first.zw, second.xy);
  uint next = (skipped & 2) == 0 ? second.x : second.z;
  return (skipped & 1) == 0 ? even : uvec4(even.yzw, next);
#endif
}

#else
uniform highp sampler2D picture;

uint pixelAt(ivec2 pixel) {
  uvec4 codes = uvec4(texelFetch(picture, clamp(pixel, ivec2(0), lastPixel), 0) * 255.0 + 0.5);
  return codes.r | codes.g << 8u | codes.b << 16u | codes.a << 24u;
}

uvec4 fourFrom(int x, int y) {
  return uvec4(
    pixelAt(ivec2(x, y)), pixelAt(ivec2(x + 1, y)), pixelAt(ivec2(x + 2, y)), pixelAt(ivec2(x + 3, y)));
}
#endif

vec3 colorOf(uint word) { return vec3(uvec3(word, word >> 8u, word >> 16u) & 255u); }
