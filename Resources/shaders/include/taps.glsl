// Tables of texels of four words, in buffers, or in textures with rows of 2048 texels.
//
// A tap table contains, for each sample along an axis, `pairs` texels of two taps, as the bits of floats
// (index of a source sample, weight, the next tap's), and then for each sample one texel with its coverage.
#ifdef TABLES_IN_BUFFERS
#define TABLE usamplerBuffer
uvec4 tableTexel(highp usamplerBuffer table, int texel) { return texelFetch(table, texel); }
#else
#define TABLE usampler2D
uvec4 tableTexel(highp usampler2D table, int texel) {
  return texelFetch(table, ivec2(texel & 2047, texel >> 11), 0);
}
#endif

vec4 tapsAt(highp TABLE table, int texel) { return uintBitsToFloat(tableTexel(table, texel)); }
