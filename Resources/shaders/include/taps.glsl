// Tap tables: `taps` entries (index of a source sample, weight) for each sample along an axis, then one entry
// (coverage, 0) per sample. Entries lie in rows of 2048, to stay within texture size limits.

vec2 tableEntry(highp sampler2D table, int entry) {
  return texelFetch(table, ivec2(entry & 2047, entry >> 11), 0).rg;
}
