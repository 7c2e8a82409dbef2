// The last step: values become codes, are mixed with the background, turned back and written.

// Mixes values, in sixteenths of a code, with the background.
INLINE i16x16 FORM(covering)(i16x16 value, i16x16 behind, i16x16 coverage) {
  i16x16 rest = 16384 - coverage;
  i32x8 low = FORM(madd)(LOW(value, behind), LOW(coverage, rest));
  i32x8 high = FORM(madd)(HIGH(value, behind), HIGH(coverage, rest));
  return FORM(packs)((low + (1 << 17)) >> 18, (high + (1 << 17)) >> 18);
}

// Output `index` of a drawing: sixteen columns of sixteen codes.
INLINE void FORM(convert_codes)(
    const struct pixels_drawing *drawing, i16x16 values[3][16], int index, const i16x16 *coverage, u8x16 *codes) {
  i16x16 behind = (i16x16){} + drawing->background[index];
  if (drawing->is_identity) {
    const i16x16 *input = values[drawing->first_input + index];
    for (int i = 0; i < 16; i++) {
      i16x16 value = coverage ? FORM(covering)((input[i] + 2) >> 2, behind, coverage[i]) : (input[i] + 32) >> 6;
      codes[i] = FORM(codes)(value);
    }
    return;
  }
  const int16_t *factors = drawing->factors[index];
  i16x16 first = (i16x16)((i32x8){} + LOAD(int32_t, factors)), second = (i16x16)((i32x8){} + factors[2]), none = {};
  i32x8 start = (i32x8){} + (drawing->offsets[index] + (coverage ? 1 << 14 : 1 << 18));
  for (int i = 0; i < 16; i++) {
    i32x8 low = start + FORM(madd)(LOW(values[0][i], values[1][i]), first)
        + FORM(madd)(LOW(values[2][i], none), second);
    i32x8 high = start + FORM(madd)(HIGH(values[0][i], values[1][i]), first)
        + FORM(madd)(HIGH(values[2][i], none), second);
    i16x16 value = coverage ? FORM(covering)(FORM(packs)(low >> 15, high >> 15), behind, coverage[i])
                            : FORM(packs)(low >> 19, high >> 19);
    codes[i] = FORM(codes)(value);
  }
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
