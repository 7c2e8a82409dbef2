// Tap tables: `taps` entries (index of a source sample, weight) for each sample along an axis, then one entry
// (coverage, 0) per sample. Entries lie in rows of 2048, to stay within texture size limits.

vec2 tableEntry(highp sampler2D table, int entry) {
  return texelFetch(table, ivec2(entry & 2047, entry >> 11), 0).rg;
}

// The position of a sample in a plane stored in bands, because it exceeds the texture size limit.
// `bands`: log2 of a band's columns, rows of the plane, log2 of a band's rows, columns of the plane.
#ifdef IN_BANDS
ivec2 inBands(ivec2 texel, ivec4 bands) {
  ivec2 band = texel >> bands.xz;
  return texel - (band << bands.xz) + band.yx * bands.wy;
}
#else
#define inBands(texel, bands) (texel)
#endif

// Defines a function that sums a signal around `position`, with one table for columns and one for rows.
#define WEIGHTED_SUM(NAME, FETCH, COLUMNS, ROWS, TAPS, SWAPS_AXES) \
  vec3 NAME(ivec2 position) { \
    vec3 sum = vec3(0.0); \
    for (int y = 0; y < TAPS.y; ++y) { \
      vec2 row = tableEntry(ROWS, position.y * TAPS.y + y); \
      vec3 rowSum = vec3(0.0); \
      for (int x = 0; x < TAPS.x; ++x) { \
        vec2 column = tableEntry(COLUMNS, position.x * TAPS.x + x); \
        ivec2 place = ivec2(column.x, row.x); \
        rowSum += column.y * FETCH(SWAPS_AXES ? place.yx : place); \
      } \
      sum += row.y * rowSum; \
    } \
    return sum; \
  }
