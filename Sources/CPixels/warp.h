// Warps: an output is the mean over positions of the stored picture. Eight outputs at a time.

typedef uint8_t u8x8 __attribute__((vector_size(8)));
typedef int64_t i64x4 __attribute__((vector_size(32)));

// Positions along one axis, in 1/256 of a sample of a plane.
INLINE i32x8 FORM(places)(const struct pixels_warp_span *span, i32x8 position) {
  if (span->eighths != 8) position = position * span->eighths >> 3;
  return (position + span->offset) >> span->shift;
}

// Loads four bytes at each place, one place after the other: on Zen 4, instructions that gather made a lens view 12 to 15 % slower.
INLINE i32x8 FORM(gather)(const uint8_t *bytes, i32x8 places) {
  i64x4 pairs = (i64x4)places;
  i32x8 words = {};
  for (int i = 0; i < 4; i++) {
    words[2 * i] = LOAD(int32_t, bytes + (int32_t)pairs[i]);
    words[2 * i + 1] = LOAD(int32_t, bytes + (pairs[i] >> 32));
  }
  return words;
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

// The sum of two rows of two samples, of 65536, counted from half of 255. Weights are those of the right and of the lower ones.
INLINE i32x8 FORM(mix_four)(i32x8 upper, i32x8 lower, i32x8 right, i32x8 below) {
  // Weights of two neighbours in sixteen bits each, of 256.
  i16x16 along = (i16x16)((right << 16) - right + 256), down = (i16x16)((below << 16) - below + 256);
  // Both rows' means, 0...65280, are counted from 32768, so that they fit sixteen bits.
  i32x8 rows = FORM(madd)((i16x16)upper, along) | FORM(madd)((i16x16)lower, along) << 16;
  return FORM(madd)((i16x16)(rows ^ (int32_t)0x80008000u), down);
}

// The mean codes of bytes, bilinear or of single samples, in whole numbers: exact, in 1/65536. Some positions are at edges.
INLINE void FORM(mean_bytes)(
    const struct pixels_warp *w, const struct pixels_warp_read *read, const struct warp_run *run,
    float (*values)[WARP_RUN], float *coverage) {
  int step = read->step, components = read->component_count;
  int half = w->kernel == PIXELS_WARP_NEAREST ? 0 : 128, fraction = w->kernel == PIXELS_WARP_NEAREST ? 0 : 255;
  for (int i = 0; i < run->count; i += 8) {
    i32x8 sums[3] = {}, shown = {};
    for (int down = 0; down < run->rows; down++)
      for (int across = 0; across < run->columns; across++) {
        i32x8 x, y, upper[3], lower[3];
        FORM(find_position)(run, run->cell_bits >= 3, i, across, down, &x, &y);
        i32x8 is_shown = FORM(find_shown)(w, run, i, across, down, x, y);
        x = FORM(places)(&read->columns, x) - half;
        y = FORM(places)(&read->rows, y) - half;
        FORM(load_nearest_pairs)(read, x >> 8, y >> 8, step, components, 0, upper);
        FORM(load_nearest_pairs)(read, x >> 8, (y >> 8) + 1, step, components, 0, lower);
        for (int c = 0; c < components; c++)
          sums[c] += FORM(mix_four)(upper[c], lower[c], x & fraction, y & fraction) & is_shown;
        shown -= is_shown;
      }
    f32x8 share = FORM(find_shares)(run, shown, coverage + i);
    for (int c = 0; c < components; c++)
      STORE(values[read->input + c] + i, __builtin_convertvector(sums[c], f32x8) * share * (1 / 65536.0f) + 128.0f);
  }
}

// The same where all samples may be read, and cells have at least eight outputs a row. `count` reads of one layout, from `read` on, have the same positions.
INLINE void FORM(mean_inside)(
    const struct pixels_warp *w, const struct pixels_warp_read *read, const struct warp_run *run, int rows, int columns,
    int count, int step, int components, float (*values)[WARP_RUN]) {
  int half = w->kernel == PIXELS_WARP_NEAREST ? 0 : 128, fraction = w->kernel == PIXELS_WARP_NEAREST ? 0 : 255;
  float share = 1 / (65536.0f * (float)(rows * columns));
  for (int i = 0; i < run->count; i += 8) {
    i32x8 sums[3] = {};
    for (int down = 0; down < rows; down++)
      for (int across = 0; across < columns; across++) {
        i32x8 x, y, upper[3], lower[3];
        FORM(find_position)(run, 1, i, across, down, &x, &y);
        for (int r = 0; r < count; r++) {
          i32x8 column = FORM(places)(&read[r].columns, x) - half, row = FORM(places)(&read[r].rows, y) - half;
          int32_t stride = (int32_t)read[r].plane.stride;
          i32x8 places = (row >> 8) * stride + (column >> 8) * step;
          FORM(load_pairs)(&read[r], places, step, components, upper);
          FORM(load_pairs)(&read[r], places + stride, step, components, lower);
          for (int c = 0; c < components; c++)
            sums[r + c] += FORM(mix_four)(upper[c], lower[c], column & fraction, row & fraction);
        }
      }
    // One read may have several components, or several reads one each.
    for (int k = 0; k < count + components - 1; k++)
      STORE(values[read->input + k] + i, __builtin_convertvector(sums[k], f32x8) * share + 128.0f);
  }
}

// The same for all signals: the layouts of all formats are luma, planes of chroma, packed luma, both chromas, R'G'B'.
INLINE void FORM(mean_all_inside)(
    const struct pixels_warp *w, const struct warp_run *run, int rows, int columns, float (*values)[WARP_RUN]) {
  for (int i = 0; i < w->read_count;) {
    const struct pixels_warp_read *read = &w->reads[i];
    int step = read->step, components = read->component_count, left = w->read_count - i, count = 1;
    if (step == 1)
      while (count < left && read[count].step == 1) count++;
    if (count == 3) FORM(mean_inside)(w, read, run, rows, columns, 3, 1, 1, values);
    else if (count == 2) FORM(mean_inside)(w, read, run, rows, columns, 2, 1, 1, values);
    else if (step == 1) FORM(mean_inside)(w, read, run, rows, columns, 1, 1, 1, values);
    else if (step == 2 && components == 1) FORM(mean_inside)(w, read, run, rows, columns, 1, 2, 1, values);
    else if (step == 2) FORM(mean_inside)(w, read, run, rows, columns, 1, 2, 2, values);
    else if (step == 4 && components == 2) FORM(mean_inside)(w, read, run, rows, columns, 1, 4, 2, values);
    else if (step == 3) FORM(mean_inside)(w, read, run, rows, columns, 1, 3, 3, values);
    else FORM(mean_inside)(w, read, run, rows, columns, 1, 4, 3, values);
    i += count;
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
        FORM(find_position)(run, run->cell_bits >= 3, i, across, down, &x, &y);
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
  FORM(mean_bytes)(w, read, run, values, coverage);
}

// Converts inputs, and writes up to eight outputs from column `x` of row `y` on. `coverage` is NULL where the picture covers all.
INLINE void FORM(finish_vector)(
    const struct pixels_warp *w, int x, int y, int width, int outputs, f32x8 inputs[3], const float *coverage) {
  f32x8 least = {}, most = (f32x8){} + 255;
  i32x8 codes[3];
  if (w->clamps_inputs)
    for (int k = 0; k < 3; k++)
      inputs[k] = __builtin_elementwise_max(__builtin_elementwise_min(inputs[k], most), least);
  for (int k = 0; k < outputs; k++) {
    const float *factors = w->factors[k];
    f32x8 value = inputs[0] * factors[0] + inputs[1] * factors[1] + inputs[2] * factors[2] + w->offsets[k];
    if (coverage) {
      f32x8 part = LOAD(f32x8, coverage);
      value = value * part + (1.0f - part) * w->background[k];
    }
    value = __builtin_elementwise_max(__builtin_elementwise_min(value + 0.5f, most), least);
    codes[k] = __builtin_convertvector(value, i32x8);
  }
  if (outputs == 3) {
    i32x8 pixels = codes[0] | codes[1] << 8 | codes[2] << 16 | ((i32x8){} + (int32_t)0xff000000u);
    uint8_t *to = w->planes[0] + y * w->strides[0] + 4 * (ptrdiff_t)x;
    if (width >= 8) STORE(to, pixels);
    else memcpy(to, &pixels, 4 * width);
    return;
  }
  for (int k = 0; k < outputs; k++) {
    u8x8 bytes = __builtin_convertvector(codes[k], u8x8);
    uint8_t *to = w->planes[k] + y * w->strides[k] + x;
    if (width >= 8) STORE(to, bytes);
    else memcpy(to, &bytes, width);
  }
}

// The same for `count` outputs.
INLINE void FORM(finish_run)(
    const struct pixels_warp *w, int x, int y, int count, int outputs, float (*values)[WARP_RUN], const float *coverage) {
  for (int i = 0; i < count; i += 8) {
    f32x8 inputs[3] = {LOAD(f32x8, values[0] + i), LOAD(f32x8, values[1] + i), LOAD(f32x8, values[2] + i)};
    FORM(finish_vector)(w, x + i, y, count - i, outputs, inputs, coverage ? coverage + i : NULL);
  }
}

// Draws `count` outputs from column `x` of row `y` on, whose cells are alike. Inputs that are not read keep their values.
static void FORM(draw_run)(
    const struct pixels_warp *w, int x, int y, int count, int cell, float (*values)[WARP_RUN]) {
  int kind = cell & 15, is_covered = kind == WARP_INSIDE;
  _Alignas(32) float coverage[WARP_RUN];
  if (kind == WARP_EMPTY) {
    memset(coverage, 0, sizeof coverage);
  } else {
    struct warp_run run;
    FORM(find_run)(w, x, y, count, cell, &run);
    if (kind == WARP_INSIDE && run.cell_bits >= 3 && !w->are_words && w->kernel != PIXELS_WARP_BICUBIC) {
      if (run.rows * run.columns == 1) FORM(mean_all_inside)(w, &run, 1, 1, values);
      else FORM(mean_all_inside)(w, &run, run.rows, run.columns, values);
    } else {
      for (int i = 0; i < w->read_count; i++) FORM(find_means)(w, &w->reads[i], &run, kind, values, coverage);
    }
  }
  const float *covered = is_covered ? NULL : coverage;
  if (w->output == PIXELS_RGBA) FORM(finish_run)(w, x, y, count, 3, values, covered);
  else if (w->output == PIXELS_TWO_PLANES) FORM(finish_run)(w, x, y, count, 2, values, covered);
  else FORM(finish_run)(w, x, y, count, 1, values, covered);
}

// Draws rows from `first` to before `end`. `cells` has room for a row of them.
static void FORM(draw_warp)(const struct pixels_warp *w, int first, int end, uint16_t *cells) {
  _Alignas(32) float values[3][WARP_RUN] = {};
  int shift = w->grid.shift, across = shift - (w->step_x > 1), known = -1;
  int columns = ((w->width - 1) >> across) + 1, most = WARP_CELLS << across < WARP_RUN ? WARP_CELLS << across : WARP_RUN;
  for (int y = first; y < end; y++) {
    int row = y * w->step_y >> shift;
    if (row != known)
      for (int column = 0; column < columns; column++) cells[column] = (uint16_t)FORM(find_cell)(w, column, row);
    known = row;
    for (int x = 0, run_end; x < w->width; x = run_end) {
      int limit = w->width - x < most ? w->width : x + most;
      run_end = x;
      while (run_end < limit && cells[run_end >> across] == cells[x >> across]) run_end += 1 << across;
      if (run_end > limit) run_end = limit;
      FORM(draw_run)(w, x, y, run_end - x, cells[x >> across], values);
    }
  }
}
