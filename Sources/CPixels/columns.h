// The second step: weighted sums of columns, sixteen rows at a time.

// The sum for one output: sixteen rows of it.
INLINE i16x16 FORM(sum_columns)(
    const struct pixels_taps *taps, const struct pixels_component *component, int begin, int output, const int16_t *band) {
  const int16_t *weights = taps->weights + output * taps->count;
  const int16_t *from = band + (taps->first[output] * component->step + component->first - begin) * 16;
  ptrdiff_t step = component->step * 16;
  i32x8 low = (i32x8){} + (1 << taps->shift >> 1), high = low;
  for (int tap = 0; tap < taps->count; tap += 2, from += 2 * step) {
    i16x16 pair = (i16x16)((i32x8){} + LOAD(int32_t, weights + tap));
    i16x16 a = LOAD(i16x16, from), b = LOAD(i16x16, from + step);
    low += FORM(madd)(LOW(a, b), pair);
    high += FORM(madd)(HIGH(a, b), pair);
  }
  return FORM(packs)(low >> taps->shift, high >> taps->shift);
}
