// Reads bytes and words of a stored plane: from a buffer, in texels of one byte, two or four words, or from a
// texture, in texels of four bytes. A drawn plane has only words: in texels of four words, or of four bytes
// as parts of 255.
//
// `store` of a buffer: the first texel, and texels per row. `store` of a texture, which is in bands if the
// plane exceeds the size limit: log2 of a band's columns, rows of the plane, log2 of a band's rows, columns
// of the plane.
#ifdef READS_BUFFER
#define STORE usamplerBuffer

uint byteAt(highp usamplerBuffer plane, ivec4 store, int x, int row) {
  return texelFetch(plane, store.x + row * store.y + x).x;
}

uvec2 twoWords(highp usamplerBuffer plane, ivec4 store, int pair, int row) {
  return texelFetch(plane, store.x + row * store.y + pair).xy;
}

// `store` in texels of four words.
uvec4 fourWords(highp usamplerBuffer plane, ivec4 store, int x, int row) {
  return texelFetch(plane, store.x + row * store.y + x);
}

// `store` in texels of two words.
uint wordAt(highp usamplerBuffer plane, ivec4 store, int x, int row) {
  uvec2 words = twoWords(plane, store, x >> 1, row);
  return (x & 1) == 0 ? words.x : words.y;
}
#elif defined(READS_DRAWN_WORDS)
#define STORE usampler2D

uvec4 fourWords(highp usampler2D plane, ivec4 store, int x, int row) {
  return texelFetch(plane, ivec2(x, row), 0);
}
#elif defined(READS_DRAWN_TEXELS)
#define STORE sampler2D

uint drawnWord(highp sampler2D plane, int x, int row) {
  int last = textureSize(plane, 0).x - 1;
  uvec4 bytes = uvec4(texelFetch(plane, ivec2(min(x, last), row), 0) * 255.0 + 0.5);
  return bytes.x | bytes.y << 8u | bytes.z << 16u | bytes.w << 24u;
}

uvec4 fourWords(highp sampler2D plane, ivec4 store, int x, int row) {
  x *= 4;
  return uvec4(
    drawnWord(plane, x, row), drawnWord(plane, x + 1, row), drawnWord(plane, x + 2, row),
    drawnWord(plane, x + 3, row));
}
#else
#ifdef READS_IMPORTED
// Bytes of another device's memory, as parts of 255. It is in one band.
#ifdef IS_EXTERNAL
#define STORE samplerExternalOES
#else
#define STORE sampler2D
#endif

uvec4 bytesAt(highp STORE plane, ivec4 store, int x, int row) {
  return uvec4(texelFetch(plane, ivec2(min(x, store.w - 1), row), 0) * 255.0 + 0.5);
}
#else
#define STORE usampler2D

uvec4 bytesAt(highp usampler2D plane, ivec4 store, int x, int row) {
  ivec2 texel = ivec2(min(x, store.w - 1), row);
  ivec2 band = texel >> store.xz;
  return texelFetch(plane, texel - (band << store.xz) + band.yx * store.wy, 0);
}
#endif

uint byteAt(highp STORE plane, ivec4 store, int x, int row) {
  return bytesAt(plane, store, x >> 2, row)[x & 3];
}

uint wordAt(highp STORE plane, ivec4 store, int x, int row) {
  uvec4 bytes = bytesAt(plane, store, x, row);
  return bytes.x | bytes.y << 8u | bytes.z << 16u | bytes.w << 24u;
}

uvec2 twoWords(highp STORE plane, ivec4 store, int pair, int row) {
  return uvec2(wordAt(plane, store, pair * 2, row), wordAt(plane, store, pair * 2 + 1, row));
}

uvec4 fourWords(highp STORE plane, ivec4 store, int x, int row) {
  return uvec4(twoWords(plane, store, x * 2, row), twoWords(plane, store, x * 2 + 1, row));
}
#endif

#if !defined(READS_DRAWN_WORDS) && !defined(READS_DRAWN_TEXELS)
// Four samples at these bytes of a row, as codes 0...255.
vec4 codesAt(highp STORE plane, ivec4 store, ivec4 bytes, int row) {
#ifdef IS_WIDE
  return vec4(
    byteAt(plane, store, bytes.x, row) | byteAt(plane, store, bytes.x + 1, row) << 8u,
    byteAt(plane, store, bytes.y, row) | byteAt(plane, store, bytes.y + 1, row) << 8u,
    byteAt(plane, store, bytes.z, row) | byteAt(plane, store, bytes.z + 1, row) << 8u,
    byteAt(plane, store, bytes.w, row) | byteAt(plane, store, bytes.w + 1, row) << 8u) / 257.0;
#else
  return vec4(
    byteAt(plane, store, bytes.x, row), byteAt(plane, store, bytes.y, row), byteAt(plane, store, bytes.z, row),
    byteAt(plane, store, bytes.w, row));
#endif
}
#endif
