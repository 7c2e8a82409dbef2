// The second step: weighted sums of columns, sixteen rows at a time.

// Of `count` columns for each of sixteen outputs from `x` on: sixteen rows of each. The last of `width` is repeated.
INLINE void FORM(sum_each)(
    const struct pixels_taps *taps, const struct pixels_component *component, int begin, int x, int width,
    const int16_t *band, int count, i16x16 *sums) {
  ptrdiff_t step = component->step * 16;
  const int16_t *start = band + (component->first - begin) * 16;
  for (int column = 0; column < 16; column++) {
    int output = x + (column < width ? column : width - 1);
    const int16_t *weights = taps->weights + output * taps->count, *from = start + taps->first[output] * step;
    i32x8 low = (i32x8){} + (1 << taps->shift >> 1), high = low;
    for (int tap = 0; tap < count; tap += 2, from += 2 * step) {
      i16x16 pair = (i16x16)((i32x8){} + LOAD(int32_t, weights + tap));
      i16x16 a = LOAD(i16x16, from), b = LOAD(i16x16, from + step);
      low += FORM(madd)(LOW(a, b), pair);
      high += FORM(madd)(HIGH(a, b), pair);
    }
    sums[column] = FORM(packs)(low >> taps->shift, high >> taps->shift);
  }
}

// The numbers of columns that enlarging takes are known beforehand: there the sums themselves are little.
INLINE void FORM(sum_columns)(
    const struct pixels_taps *taps, const struct pixels_component *component, int begin, int x, int width,
    const int16_t *band, i16x16 *sums) {
  switch (taps->count) {
  case 2: FORM(sum_each)(taps, component, begin, x, width, band, 2, sums); break;
  case 4: FORM(sum_each)(taps, component, begin, x, width, band, 4, sums); break;
  default: FORM(sum_each)(taps, component, begin, x, width, band, taps->count, sums);
  }
}
