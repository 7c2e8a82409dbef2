// Rows of sums that are wider than a texture may be are split into bands of columns, one below the other.
// `fold`: log2 of a band's columns, rows of a band.
ivec2 folded(ivec2 place, ivec2 fold) {
  int band = place.x >> fold.x;
  return ivec2(place.x - (band << fold.x), place.y + band * fold.y);
}

ivec2 unfolded(ivec2 place, ivec2 fold) {
  ivec2 result = place;
  // Not a division, which costs llvmpipe as much as four texels per fragment.
  for (; result.y >= fold.y; result.y -= fold.y) result.x += 1 << fold.x;
  return result;
}
