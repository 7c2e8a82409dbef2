// The first step: weighted sums of rows, for sixteen output rows, turned so that a vector holds one column of them.

// Sixteen samples of a row in sixteen bits. Words are counted from 32768, so that they fit.
INLINE i16x16 FORM(samples)(const uint8_t *row, int sample, enum pixels_samples samples) {
  switch (samples) {
  case PIXELS_BYTES: return __builtin_convertvector(LOAD(u8x16, row + sample), i16x16);
  case PIXELS_EVEN_BYTES: return LOAD(i16x16, row + 2 * sample) & 0xff;
  case PIXELS_ODD_BYTES: return (i16x16)(LOAD(u16x16, row + 2 * sample) >> 8);
  case PIXELS_WORDS: return LOAD(i16x16, row + 2 * sample) ^ (int16_t)0x8000;
  }
}

// Sums 32 samples of some rows into `line`.
INLINE void FORM(sum)(
    const uint8_t *const *rows, const int16_t *weights, const struct pixels_taps *taps, int sample,
    enum pixels_samples kind, int16_t *line) {
  i32x8 sums[4];
  int32_t start = (1 << taps->shift >> 1) + (kind == PIXELS_WORDS ? taps->total << 15 : 0);
  for (int i = 0; i < 4; i++) sums[i] = (i32x8){} + start;
  for (int tap = 0; tap < taps->count; tap += 2) {
    i16x16 pair = (i16x16)((i32x8){} + LOAD(int32_t, weights + tap));
#pragma clang loop unroll(full)
    for (int half = 0; half < 2; half++) {
      i16x16 a = FORM(samples)(rows[tap], sample + 16 * half, kind);
      i16x16 b = FORM(samples)(rows[tap + 1], sample + 16 * half, kind);
      sums[2 * half] += FORM(madd)(LOW(a, b), pair);
      sums[2 * half + 1] += FORM(madd)(HIGH(a, b), pair);
    }
  }
  for (int half = 0; half < 2; half++)
    STORE(line + 16 * half, FORM(packs)(sums[2 * half] >> taps->shift, sums[2 * half + 1] >> taps->shift));
}

// Turns eight rows of sixteen samples: vector i gets columns i and i + 8.
INLINE void FORM(turn_half)(const int16_t *from, ptrdiff_t stride, i16x16 *a) {
  i16x16 b[8];
  for (int i = 0; i < 8; i++) b[i] = LOAD(i16x16, from + i * stride);
  SHUFFLE(8, b, a, LOW, HIGH);
  SHUFFLE(8, a, b, LOW, HIGH);
  SHUFFLE(8, b, a, LOW, HIGH);
}

// Turns sixteen rows of sixteen samples.
INLINE void FORM(turn)(const int16_t *from, ptrdiff_t stride, int16_t *to) {
  i16x16 upper[8], lower[8];
  FORM(turn_half)(from, stride, upper);
  FORM(turn_half)(from + 8 * stride, stride, lower);
  for (int i = 0; i < 8; i++) {
    STORE(to + 16 * i, __builtin_shufflevector(upper[i], lower[i], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23));
    STORE(to + 16 * (i + 8),
          __builtin_shufflevector(upper[i], lower[i], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31));
  }
}

// Sums all samples of one kind for the rows from `first` on.
INLINE void FORM(sum_kind)(
    const struct pixels_signal *signal, const struct pixels_plane *plane, enum pixels_samples kind, int first,
    int height, const uint8_t **pointers, int16_t *band) {
  const struct pixels_taps *taps = &signal->rows;
  int all = signal->end - signal->begin, width = kind == PIXELS_BYTES ? 1 : 2;
  _Alignas(32) int16_t lines[16 * SUM_CHUNK];
  for (int row = 0; row < 16; row++) {
    int output = first + row < height ? first + row : height - 1;
    for (int tap = 0; tap < taps->count; tap++) {
      int input = taps->first[output] + tap;
      if (input >= signal->row_count) input = signal->row_count - 1;
      pointers[row * taps->count + tap] = plane->bytes + input * plane->stride + signal->begin * width;
    }
  }
  if (all < 32) {
    // A vector would read beyond the row, and perhaps beyond its memory.
    for (int row = 0; row < 16; row++) {
      int output = first + row < height ? first + row : height - 1;
      for (int i = 0; i < all; i++) {
        int32_t sum = 1 << taps->shift >> 1;
        for (int tap = 0; tap < taps->count; tap++) {
          const uint8_t *from = pointers[row * taps->count + tap];
          int value = kind == PIXELS_BYTES ? from[i]
              : kind == PIXELS_WORDS       ? from[2 * i] | from[2 * i + 1] << 8
              : kind == PIXELS_EVEN_BYTES  ? from[2 * i]
                                           : from[2 * i + 1];
          sum += value * taps->weights[output * taps->count + tap];
        }
        sum >>= taps->shift;
        band[i * 16 + row] = (int16_t)(sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum);
      }
    }
    return;
  }
  for (int start = 0; start < all; start += SUM_CHUNK) {
    if (all - start < 32) start = all - 32;
    int count = all - start < SUM_CHUNK ? all - start : SUM_CHUNK;
    for (int row = 0; row < 16; row++) {
      int output = first + row < height ? first + row : height - 1;
      for (int sample = 0; sample < count; sample += 32) {
        if (count - sample < 32) sample = count - 32;
        // Three or more rows at a time are more than the processor's own prefetching follows.
        if (row < 15 && !(sample & 32))
          for (int tap = 0; tap < taps->count; tap++)
            __builtin_prefetch(pointers[(row + 1) * taps->count + tap] + (start + sample) * width);
        FORM(sum)(pointers + row * taps->count, taps->weights + output * taps->count, taps, start + sample, kind,
                  lines + row * SUM_CHUNK + sample);
      }
    }
    for (int sample = 0; sample < count; sample += 16) {
      if (count - sample < 16) sample = count - 16;
      FORM(turn)(lines + sample, SUM_CHUNK, band + (start + sample) * 16);
    }
  }
}

// Sums a plane of a signal for the sixteen output rows from `first` on: sample i of row r is band[i * 16 + r].
static void FORM(sum_rows)(
    const struct pixels_signal *signal, int plane, int first, int height, const uint8_t **pointers, int16_t *band) {
  const struct pixels_plane *from = &signal->planes[plane];
  switch (signal->samples) {
  case PIXELS_BYTES: FORM(sum_kind)(signal, from, PIXELS_BYTES, first, height, pointers, band); break;
  case PIXELS_EVEN_BYTES: FORM(sum_kind)(signal, from, PIXELS_EVEN_BYTES, first, height, pointers, band); break;
  case PIXELS_ODD_BYTES: FORM(sum_kind)(signal, from, PIXELS_ODD_BYTES, first, height, pointers, band); break;
  case PIXELS_WORDS: FORM(sum_kind)(signal, from, PIXELS_WORDS, first, height, pointers, band); break;
  }
}
