// The last step: values become codes, are mixed with the background, turned back and written.

struct FORM(values) {
  i16x16 of[3];
};

// Output `index` of a drawing: sixteen rows of codes, not yet within 0...255.
INLINE i16x16 FORM(converted)(
    const struct pixels_drawing *drawing, const struct FORM(values) *values, int index, const i16x16 *coverage) {
  i16x16 value;
  if (drawing->is_identity) {
    if (!coverage) return (values->of[drawing->first_input + index] + 32) >> 6;
    value = (values->of[drawing->first_input + index] + 2) >> 2;
  } else {
    const int16_t *factors = drawing->factors[index];
    i16x16 first = (i16x16)((i32x8){} + LOAD(int32_t, factors)), second = (i16x16)((i32x8){} + factors[2]);
    i16x16 none = {};
    i32x8 start = (i32x8){} + drawing->offsets[index];
    i32x8 low = start + FORM(madd)(LOW(values->of[0], values->of[1]), first)
        + FORM(madd)(LOW(values->of[2], none), second);
    i32x8 high = start + FORM(madd)(HIGH(values->of[0], values->of[1]), first)
        + FORM(madd)(HIGH(values->of[2], none), second);
    if (!coverage) return FORM(packs)((low + (1 << 18)) >> 19, (high + (1 << 18)) >> 19);
    value = FORM(packs)((low + (1 << 14)) >> 15, (high + (1 << 14)) >> 15);
  }
  i16x16 behind = (i16x16){} + drawing->background[index], rest = 16384 - *coverage;
  i32x8 low = FORM(madd)(LOW(value, behind), LOW(*coverage, rest));
  i32x8 high = FORM(madd)(HIGH(value, behind), HIGH(*coverage, rest));
  return FORM(packs)((low + (1 << 17)) >> 18, (high + (1 << 17)) >> 18);
}

// Turns sixteen by sixteen bytes.
INLINE void FORM(turn_bytes)(u8x16 *a) {
  u8x16 b[16];
  SHUFFLE(16, a, b, LOW_BYTES, HIGH_BYTES);
  SHUFFLE(16, b, a, LOW_BYTES, HIGH_BYTES);
  SHUFFLE(16, a, b, LOW_BYTES, HIGH_BYTES);
  SHUFFLE(16, b, a, LOW_BYTES, HIGH_BYTES);
}

// Writes rows of up to sixteen bytes.
INLINE void FORM(write_plane)(u8x16 *columns, uint8_t *to, ptrdiff_t stride, int width, int height) {
  FORM(turn_bytes)(columns);
  for (int row = 0; row < height; row++, to += stride) {
    if (width == 16) STORE(to, columns[row]);
    else memcpy(to, &columns[row], width);
  }
}

// Writes rows of up to sixteen pixels.
INLINE void FORM(write_pixels)(
    u8x16 *red, u8x16 *green, u8x16 *blue, uint8_t *to, ptrdiff_t stride, int width, int height) {
  FORM(turn_bytes)(red);
  FORM(turn_bytes)(green);
  FORM(turn_bytes)(blue);
  u8x16 alpha = (u8x16){} + 255;
  for (int row = 0; row < height; row++, to += stride) {
    u16x8 parts[4] = {
        (u16x8)LOW_BYTES(red[row], green[row]), (u16x8)HIGH_BYTES(red[row], green[row]),
        (u16x8)LOW_BYTES(blue[row], alpha), (u16x8)HIGH_BYTES(blue[row], alpha),
    };
    u16x8 pixels[4] = {
        LOW_WORDS(parts[0], parts[2]), HIGH_WORDS(parts[0], parts[2]),
        LOW_WORDS(parts[1], parts[3]), HIGH_WORDS(parts[1], parts[3]),
    };
    if (width == 16) memcpy(to, pixels, 64);
    else memcpy(to, pixels, width * 4);
  }
}
