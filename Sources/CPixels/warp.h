// Warps: an output is the mean over positions of the stored picture. Eight outputs at a time.

typedef uint8_t u8x8 __attribute__((vector_size(8)));

// Positions along one axis, in 1/256 of a sample of a plane.
INLINE i32x8 FORM(places)(const struct pixels_warp_span *span, i32x8 position) {
  if (span->eighths != 8) position = position * span->eighths >> 3;
  return (position + span->offset) >> span->shift;
}

INLINE i32x8 FORM(gather)(const uint8_t *bytes, i32x8 places) {
#if defined(FORM_AVX2)
  return (i32x8)_mm256_i32gather_epi32((const int *)bytes, (__m256i)places, 1);
#else
  i32x8 words = {};
  for (int i = 0; i < 8; i++) words[i] = LOAD(int32_t, bytes + places[i]);
  return words;
#endif
}

// A component of two samples in sixteen bits each: byte `first` of `near`, and of `far`, or `step` bytes behind it.
INLINE i32x8 FORM(pick)(i32x8 near, i32x8 far, int step, int first) {
#if defined(FORM_AVX2)
  i32x8 lanes = {0, 1, 2, 3, 0, 1, 2, 3};
  if (step <= 2) {
    i32x8 both = lanes * 0x40004 + (int32_t)(0x80008000u | (uint32_t)first | (uint32_t)(first + step) << 16);
    return (i32x8)_mm256_shuffle_epi8((__m256i)near, (__m256i)both);
  }
  i32x8 low = lanes * 4 + (int32_t)(0x80808000u | (uint32_t)first);
  i32x8 high = lanes * 0x40000 + (int32_t)(0x80008080u | (uint32_t)first << 16);
  return (i32x8)_mm256_shuffle_epi8((__m256i)near, (__m256i)low) | (i32x8)_mm256_shuffle_epi8((__m256i)far, (__m256i)high);
#else
  int second = step <= 2 ? first + step : first;
  return ((near >> (8 * first)) & 255) | (((far >> (8 * second)) & 255) << 16);
#endif
}

// Loads each component of the samples at `places`, in bytes, and of their neighbours. All may be read.
INLINE void FORM(load_pairs)(
    const struct pixels_warp_read *read, i32x8 places, int step, int components, i32x8 *pairs) {
  i32x8 near = FORM(gather)(read->plane.bytes, places);
  i32x8 far = step > 2 ? FORM(gather)(read->plane.bytes + step, places) : near;
  for (int c = 0; c < components; c++) pairs[c] = FORM(pick)(near, far, step, read->firsts[c]);
}

// Samples of a row or column, or the nearest that may be read.
INLINE i32x8 FORM(nearest)(const struct pixels_warp_span *span, i32x8 samples) {
  i32x8 first = (i32x8){} + span->first, last = (i32x8){} + span->last;
  return __builtin_elementwise_max(__builtin_elementwise_min(samples, last), first);
}

// Loads each component of samples and of their right neighbours.
INLINE void FORM(load_nearest_pairs)(
    const struct pixels_warp_read *read, i32x8 columns, i32x8 rows, int step, int components, int are_words,
    i32x8 *pairs) {
  i32x8 left = FORM(nearest)(&read->columns, columns), right = FORM(nearest)(&read->columns, columns + 1);
  i32x8 y = FORM(nearest)(&read->rows, rows);
  for (int i = 0; i < 8; i++) {
    const uint8_t *row = read->plane.bytes + y[i] * read->plane.stride;
    ptrdiff_t near = (ptrdiff_t)left[i] * step, far = (ptrdiff_t)right[i] * step;
    for (int c = 0; c < components; c++) {
      ptrdiff_t first = read->firsts[c];
      uint32_t low = are_words ? LOAD(uint16_t, row + 2 * (near + first)) : row[near + first];
      uint32_t high = are_words ? LOAD(uint16_t, row + 2 * (far + first)) : row[far + first];
      pairs[c][i] = (int32_t)(low | high << 16);
    }
  }
}

// The part of each shown position in the mean, and the part of all that is shown.
INLINE f32x8 FORM(find_shares)(const struct warp_run *run, i32x8 shown, float *coverage) {
  f32x8 all = (f32x8){} + (float)(run->columns * run->rows), one = (f32x8){} + 1;
  STORE(coverage, __builtin_convertvector(shown, f32x8) / all);
  return one / __builtin_convertvector(__builtin_elementwise_max(shown, (i32x8){} + 1), f32x8);
}

// The mean codes of bytes, bilinear or of single samples, in whole numbers: exact, in 1/65536.
INLINE void FORM(mean_bytes)(
    const struct pixels_warp *w, const struct pixels_warp_read *read, const struct warp_run *run, int step,
    int components, int is_edge, float (*values)[WARP_RUN], float *coverage) {
  int half = w->kernel == PIXELS_WARP_NEAREST ? 0 : 128, fraction = w->kernel == PIXELS_WARP_NEAREST ? 0 : 255;
  for (int i = 0; i < run->count; i += 8) {
    i32x8 sums[3] = {}, shown = {};
    for (int down = 0; down < run->rows; down++)
      for (int across = 0; across < run->columns; across++) {
        i32x8 x, y, is_shown = {}, upper[3], lower[3];
        FORM(find_position)(run, i, across, down, &x, &y);
        if (is_edge) is_shown = FORM(find_shown)(w, run, i, across, down, x, y);
        x = FORM(places)(&read->columns, x) - half;
        y = FORM(places)(&read->rows, y) - half;
        i32x8 column = x >> 8, row = y >> 8, right = x & fraction, below = y & fraction;
        if (is_edge) {
          FORM(load_nearest_pairs)(read, column, row, step, components, 0, upper);
          FORM(load_nearest_pairs)(read, column, row + 1, step, components, 0, lower);
        } else {
          int32_t stride = (int32_t)read->plane.stride;
          i32x8 places = row * stride + column * step;
          FORM(load_pairs)(read, places, step, components, upper);
          FORM(load_pairs)(read, places + stride, step, components, lower);
        }
        // Weights of two neighbours in sixteen bits each, of 256.
        i16x16 along = (i16x16)((right << 16) - right + 256), down_weights = (i16x16)((below << 16) - below + 256);
        for (int c = 0; c < components; c++) {
          // Both rows' means, 0...65280, are counted from 32768, so that they fit sixteen bits.
          i32x8 rows = FORM(madd)((i16x16)upper[c], along) | FORM(madd)((i16x16)lower[c], along) << 16;
          i32x8 mean = FORM(madd)((i16x16)(rows ^ (int32_t)0x80008000u), down_weights);
          sums[c] += is_edge ? mean & is_shown : mean;
        }
        shown -= is_shown;
      }
    f32x8 share = is_edge ? FORM(find_shares)(run, shown, coverage + i)
                          : (f32x8){} + 1.0f / (float)(run->columns * run->rows);
    for (int c = 0; c < components; c++)
      STORE(values[read->input + c] + i, __builtin_convertvector(sums[c], f32x8) * share * (1 / 65536.0f) + 128.0f);
  }
}

// The weights of two or four neighbours for fractions of a sample, in sixteen bits each: of 256, or of 4096.
INLINE void FORM(find_weights)(const struct pixels_warp *w, int taps, i32x8 fraction, i32x8 *weights) {
  if (taps == 2) {
    weights[0] = (fraction << 16) - fraction + 256;
    return;
  }
  for (int i = 0; i < 8; i++) {
    const int16_t *from = w->cubic + 4 * fraction[i];
    weights[0][i] = LOAD(int32_t, from);
    weights[1][i] = LOAD(int32_t, from + 2);
  }
}

// The mean codes of bytes or words by two by two or four by four samples, in floats.
INLINE void FORM(mean_floats)(
    const struct pixels_warp *w, const struct pixels_warp_read *read, const struct warp_run *run, int taps,
    int are_words, int is_edge, float (*values)[WARP_RUN], float *coverage) {
  int half = w->kernel == PIXELS_WARP_NEAREST ? 0 : 128, fraction = w->kernel == PIXELS_WARP_NEAREST ? 0 : 255;
  int before = taps / 2 - 1, step = read->step, components = read->component_count;
  float total = taps == 2 ? 256 : 4096;
  for (int i = 0; i < run->count; i += 8) {
    f32x8 sums[3] = {};
    i32x8 shown = {};
    for (int down = 0; down < run->rows; down++)
      for (int across = 0; across < run->columns; across++) {
        i32x8 x, y, is_shown = (i32x8){} - 1, along[2] = {}, weights[2] = {};
        FORM(find_position)(run, i, across, down, &x, &y);
        if (is_edge) is_shown = FORM(find_shown)(w, run, i, across, down, x, y);
        x = FORM(places)(&read->columns, x) - half;
        y = FORM(places)(&read->rows, y) - half;
        i32x8 column = (x >> 8) - before, row = (y >> 8) - before;
        FORM(find_weights)(w, taps, x & fraction, along);
        FORM(find_weights)(w, taps, y & fraction, weights);
        for (int tap = 0; tap < taps; tap++) {
          i32x8 means[3] = {}, pairs[3];
          for (int pair = 0; pair < taps / 2; pair++) {
            i32x8 left = column + 2 * pair;
            if (is_edge) FORM(load_nearest_pairs)(read, left, row + tap, step, components, are_words, pairs);
            else FORM(load_pairs)(read, (row + tap) * (int32_t)read->plane.stride + left * step, step, components, pairs);
            // Words are counted from 32768, so that they fit.
            for (int c = 0; c < components; c++)
              means[c] += FORM(madd)((i16x16)(are_words ? pairs[c] ^ (int32_t)0x80008000u : pairs[c]), (i16x16)along[pair]);
          }
          i32x8 weight = tap & 1 ? weights[tap / 2] >> 16 : (weights[tap / 2] << 16) >> 16;
          f32x8 part = __builtin_convertvector(weight & is_shown, f32x8);
          for (int c = 0; c < components; c++) sums[c] += __builtin_convertvector(means[c], f32x8) * part;
        }
        shown -= is_shown;
      }
    f32x8 share = FORM(find_shares)(run, shown, coverage + i) * (1 / (total * total));
    for (int c = 0; c < components; c++) {
      f32x8 mean = sums[c] * share;
      STORE(values[read->input + c] + i, are_words ? (mean + 32768) * (1 / 257.0f) : mean);
    }
  }
}

// The mean codes of a signal's components in a plane.
INLINE void FORM(find_means)(
    const struct pixels_warp *w, const struct pixels_warp_read *read, const struct warp_run *run, int kind,
    float (*values)[WARP_RUN], float *coverage) {
  int step = read->step, components = read->component_count;
  if (w->are_words) {
    if (w->kernel == PIXELS_WARP_BICUBIC) FORM(mean_floats)(w, read, run, 4, 1, 1, values, coverage);
    else FORM(mean_floats)(w, read, run, 2, 1, 1, values, coverage);
    return;
  }
  if (w->kernel == PIXELS_WARP_BICUBIC) {
    if (kind == WARP_INSIDE) FORM(mean_floats)(w, read, run, 4, 0, 0, values, coverage);
    else FORM(mean_floats)(w, read, run, 4, 0, 1, values, coverage);
    return;
  }
  if (kind == WARP_EDGE) {
    FORM(mean_bytes)(w, read, run, step, components, 1, values, coverage);
    return;
  }
  // The layouts of all formats: luma or a plane of chroma, packed luma, both chromas, R'G'B'.
  if (step == 1 && components == 1) FORM(mean_bytes)(w, read, run, 1, 1, 0, values, coverage);
  else if (step == 2 && components == 1) FORM(mean_bytes)(w, read, run, 2, 1, 0, values, coverage);
  else if (step == 2 && components == 2) FORM(mean_bytes)(w, read, run, 2, 2, 0, values, coverage);
  else if (step == 4 && components == 2) FORM(mean_bytes)(w, read, run, 4, 2, 0, values, coverage);
  else if (step == 3 && components == 3) FORM(mean_bytes)(w, read, run, 3, 3, 0, values, coverage);
  else FORM(mean_bytes)(w, read, run, 4, 3, 0, values, coverage);
}

// Converts and writes `count` outputs from column `x` of row `y` on. `coverage` is NULL where the picture covers all.
INLINE void FORM(finish_run)(
    const struct pixels_warp *w, int x, int y, int count, float (*values)[WARP_RUN], const float *coverage) {
  int outputs = w->output == PIXELS_ONE_PLANE ? 1 : w->output == PIXELS_TWO_PLANES ? 2 : 3;
  f32x8 least = {}, most = (f32x8){} + 255;
  for (int i = 0; i < count; i += 8) {
    f32x8 inputs[3];
    i32x8 codes[3];
    for (int k = 0; k < 3; k++) {
      inputs[k] = LOAD(f32x8, values[k] + i);
      if (w->clamps_inputs)
        inputs[k] = __builtin_elementwise_max(__builtin_elementwise_min(inputs[k], most), least);
    }
    for (int k = 0; k < outputs; k++) {
      const float *factors = w->factors[k];
      f32x8 value = inputs[0] * factors[0] + inputs[1] * factors[1] + inputs[2] * factors[2] + w->offsets[k];
      if (coverage) {
        f32x8 part = LOAD(f32x8, coverage + i);
        value = value * part + (1.0f - part) * w->background[k];
      }
      value = __builtin_elementwise_max(__builtin_elementwise_min(value + 0.5f, most), least);
      codes[k] = __builtin_convertvector(value, i32x8);
    }
    int width = count - i < 8 ? count - i : 8;
    if (w->output == PIXELS_RGBA) {
      i32x8 pixels = codes[0] | codes[1] << 8 | codes[2] << 16 | ((i32x8){} + (int32_t)0xff000000u);
      uint8_t *to = w->planes[0] + y * w->strides[0] + 4 * (ptrdiff_t)(x + i);
      if (width == 8) STORE(to, pixels);
      else memcpy(to, &pixels, 4 * width);
      continue;
    }
    for (int k = 0; k < outputs; k++) {
      u8x8 bytes = __builtin_convertvector(codes[k], u8x8);
      uint8_t *to = w->planes[k] + y * w->strides[k] + x + i;
      if (width == 8) STORE(to, bytes);
      else memcpy(to, &bytes, width);
    }
  }
}

// Draws `count` outputs from column `x` of row `y` on, whose cells are alike. Inputs that are not read keep their values.
static void FORM(draw_run)(
    const struct pixels_warp *w, int x, int y, int count, int cell, float (*values)[WARP_RUN]) {
  int kind = cell & 15;
  _Alignas(32) float coverage[WARP_RUN];
  if (kind == WARP_EMPTY) {
    memset(coverage, 0, sizeof coverage);
  } else {
    struct warp_run run;
    FORM(find_run)(w, x, y, count, cell, &run);
    for (int i = 0; i < w->read_count; i++) FORM(find_means)(w, &w->reads[i], &run, kind, values, coverage);
  }
  FORM(finish_run)(w, x, y, count, values, kind == WARP_INSIDE ? NULL : coverage);
}

// Draws rows from `first` to before `end`. `cells` has room for a row of them.
static void FORM(draw_warp)(const struct pixels_warp *w, int first, int end, uint16_t *cells) {
  _Alignas(32) float values[3][WARP_RUN] = {};
  int shift = w->grid.shift, across = shift - (w->step_x > 1), known = -1;
  int columns = ((w->width - 1) >> across) + 1;
  for (int y = first; y < end; y++) {
    int row = y * w->step_y >> shift;
    if (row != known)
      for (int column = 0; column < columns; column++) cells[column] = (uint16_t)FORM(find_cell)(w, column, row);
    known = row;
    for (int x = 0, run_end; x < w->width; x = run_end) {
      int limit = w->width - x < WARP_RUN ? w->width : x + WARP_RUN;
      run_end = x;
      while (run_end < limit && cells[run_end >> across] == cells[x >> across]) run_end += 1 << across;
      if (run_end > limit) run_end = limit;
      FORM(draw_run)(w, x, y, run_end - x, cells[x >> across], values);
    }
  }
}
