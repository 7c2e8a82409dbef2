// Sums of rows that are wider than a texture can be lie in bands of columns, one below the other.
// `fold`: log2 of a band's columns, rows of a band.
ivec2 folded(ivec2 place, ivec2 fold) {
  int band = place.x >> fold.x;
  return ivec2(place.x - (band << fold.x), place.y + band * fold.y);
}

ivec2 unfolded(ivec2 place, ivec2 fold) {
  int band = place.y / fold.y;
  return ivec2(place.x + (band << fold.x), place.y - band * fold.y);
}
