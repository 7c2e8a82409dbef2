#version 320 es
// Copies a plane stored sixteen samples per texel, with rows and columns exchanged and either reversed. A fragment
// makes sixteen columns of four rows: row 4k + i of the copy is row k of output i. Reversed source columns are
// counted from the end of the last word, so the copy's first rows may lie beyond the source.
precision highp float;
precision highp int;
#include "place.glsl"

uniform highp usampler2D source;
uniform ivec2 sourceSize;  // columns of words, rows
uniform bvec2 flips;       // along the source's columns and rows

layout(location = 0) out uvec4 row0;
layout(location = 1) out uvec4 row1;
layout(location = 2) out uvec4 row2;
layout(location = 3) out uvec4 row3;

uvec4 four(uvec4 words) {
  return uvec4(
    words.x & 255u | (words.y & 255u) << 8 | (words.z & 255u) << 16 | words.w << 24,
    words.x >> 8 & 255u | words.y & 0xff00u | (words.z & 0xff00u) << 8 | (words.w & 0xff00u) << 16,
    words.x >> 16 & 255u | words.y >> 8 & 0xff00u | words.z & 0xff0000u | (words.w & 0xff0000u) << 8,
    words.x >> 24 | words.y >> 16 & 0xff00u | words.z >> 8 & 0xff0000u | words.w & 0xff000000u);
}

void main() {
  ivec2 place = drawnPlace();
  int column = flips.x ? sourceSize.x - 1 - place.y : place.y;
  uvec4 rows[4];
  for (int quad = 0; quad < 4; ++quad) {
    uvec4 words;
    for (int index = 0; index < 4; ++index) {
      int row = min(place.x * 16 + quad * 4 + index, sourceSize.y - 1);
      uvec4 fetched = texelFetch(source, ivec2(column >> 2, flips.y ? sourceSize.y - 1 - row : row), 0);
      uvec2 pair = (column & 2) == 0 ? fetched.xy : fetched.zw;
      words[index] = (column & 1) == 0 ? pair.x : pair.y;
    }
    uvec4 turned = four(words);
    if (flips.x) turned = turned.wzyx;
    rows[0][quad] = turned.x;
    rows[1][quad] = turned.y;
    rows[2][quad] = turned.z;
    rows[3][quad] = turned.w;
  }
  row0 = rows[0];
  row1 = rows[1];
  row2 = rows[2];
  row3 = rows[3];
}
