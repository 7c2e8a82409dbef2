// Words of a stored plane: from a buffer in texels of two words, or from a texture in texels of one.
// `store`, of a buffer: the first texel, texels a row; of a texture: the last texel of a row.
#ifdef READS_BUFFER
#define STORE usamplerBuffer

uvec2 twoWords(highp usamplerBuffer plane, ivec2 store, int pair, int row) {
  return texelFetch(plane, store.x + row * store.y + pair).xy;
}
#else
#define STORE usampler2D

uint wordAt(highp usampler2D plane, ivec2 store, int index, int row) {
  uvec4 bytes = texelFetch(plane, ivec2(min(index, store.x), row), 0);
  return bytes.x | bytes.y << 8u | bytes.z << 16u | bytes.w << 24u;
}

uvec2 twoWords(highp usampler2D plane, ivec2 store, int pair, int row) {
  return uvec2(wordAt(plane, store, pair * 2, row), wordAt(plane, store, pair * 2 + 1, row));
}
#endif

uvec4 fourWords(highp STORE plane, ivec2 store, int index, int row) {
  return uvec4(twoWords(plane, store, index * 2, row), twoWords(plane, store, index * 2 + 1, row));
}
