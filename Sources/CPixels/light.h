// Drawings in linear light, in floats, a line of each component: rows become light, are added to the sums of the outputs that they
// are part of, and the sums' columns become codes.

typedef float f32x4 __attribute__((vector_size(16)));
typedef int32_t i32x4 __attribute__((vector_size(16)));
typedef float f32x8 __attribute__((vector_size(32)));

// The codes of `count` samples of a component, from sample `x` of a row on.
INLINE void FORM(read_samples)(
    const struct pixels_light *l, const struct pixels_component *c, int y, int x, int count, float *restrict codes) {
  ptrdiff_t step = c->step, place = x * step + c->first;
  const uint8_t *row = l->planes[c->plane].bytes + y * l->planes[c->plane].stride;
  if (l->are_words) {
    row += 2 * place;
    for (int i = 0; i < count; i++) codes[i] = (row[2 * step * i] | row[2 * step * i + 1] << 8) * (1 / 257.0f);
    return;
  }
  row += place;
  if (step == 1) for (int i = 0; i < count; i++) codes[i] = row[i];
  else if (step == 2) for (int i = 0; i < count; i++) codes[i] = row[2 * i];
  else for (int i = 0; i < count; i++) codes[i] = row[step * i];
}

// The codes of a component at each pixel of a row. `lines` has room for two lines.
INLINE void FORM(read_codes)(
    const struct pixels_light *l, int component, int y, float *restrict codes, float *restrict lines, size_t line) {
  int count = l->end - l->begin;
  const struct pixels_component *c = &l->components[component];
  if (component == 0 || !l->across.first) {
    FORM(read_samples)(l, c, y, l->begin, count, codes);
    return;
  }
  // Between two rows first, then between two of their samples.
  const int32_t *first = l->across.first + l->begin, *second = l->across.second + l->begin;
  const float *part = l->across.part + l->begin;
  int left = first[0], samples = second[count - 1] - left + 1;
  float down = l->down.part[y], *restrict lower = lines + line;
  FORM(read_samples)(l, c, l->down.first[y], left, samples, lines);
  if (down > 0) {
    FORM(read_samples)(l, c, l->down.second[y], left, samples, lower);
    for (int i = 0; i < samples; i++) lines[i] = lines[i] * (1 - down) + lower[i] * down;
  }
  for (int i = 0; i < count; i++) codes[i] = lines[first[i] - left] * (1 - part[i]) + lines[second[i] - left] * part[i];
}

// The light of codes, between the entries of a table. It takes as many as fill whole vectors.
INLINE void FORM(find_light)(const struct pixels_light *l, const float *restrict codes, float *restrict light, int count) {
  const float *table = l->light;
  for (int i = 0; i < count; i += 8) {
    f32x8 place = (LOAD(f32x8, codes + i) + 512) * 4, least = {}, most = (f32x8){} + 6142;
    place = __builtin_elementwise_max(__builtin_elementwise_min(place, most), least);
    i32x8 entry = __builtin_convertvector(place, i32x8);
    f32x8 near, far;
#if defined(FORM_AVX2)
    near = (f32x8)_mm256_i32gather_ps(table, (__m256i)entry, 4);
    far = (f32x8)_mm256_i32gather_ps(table + 1, (__m256i)entry, 4);
#else
    for (int k = 0; k < 8; k++) near[k] = table[entry[k]], far[k] = table[entry[k] + 1];
#endif
    STORE(light + i, near + (far - near) * (place - __builtin_convertvector(entry, f32x8)));
  }
}

// The light of a row of pixels, a line for each of R, G and B. `codes` has room for five lines.
INLINE void FORM(read_light)(
    const struct pixels_light *l, int y, float *restrict codes, float *restrict light, size_t line) {
  int count = l->end - l->begin, is_grey = l->component_count == 1;
  for (int c = 0; c < l->component_count; c++) FORM(read_codes)(l, c, y, codes + c * line, codes + 3 * line, line);
  if (l->is_converted) {
    float *restrict first = codes, *restrict second = codes + line, *restrict third = codes + 2 * line;
    if (is_grey) for (int i = 0; i < count; i++) second[i] = third[i] = 128;
    for (int i = 0; i < count; i++) {
      float a = first[i], b = second[i], c = third[i];
      first[i] = l->factors[0][0] * a + l->factors[0][1] * b + l->factors[0][2] * c + l->offsets[0];
      second[i] = l->factors[1][0] * a + l->factors[1][1] * b + l->factors[1][2] * c + l->offsets[1];
      third[i] = l->factors[2][0] * a + l->factors[2][1] * b + l->factors[2][2] * c + l->offsets[2];
    }
  }
  int lines = is_grey && !l->is_converted ? 1 : 3;
  for (int c = 0; c < lines; c++) FORM(find_light)(l, codes + c * line, light + c * line, count);
  for (int c = lines; c < 3; c++) memcpy(light + c * line, light, count * sizeof *light);
}

// The codes of a row of sums.
INLINE void FORM(weigh_columns)(const struct pixels_light *l, const float *restrict sums, f32x4 *restrict pixels, size_t line, int y) {
  const float *restrict red = sums, *restrict green = sums + line, *restrict blue = sums + 2 * line;
  for (size_t i = 0; i < line; i++) pixels[i] = (f32x4){red[i], green[i], blue[i], 0};
  uint8_t *to = l->pixels + y * l->stride;
  for (int x = 0; x < l->width; x++, to += 4) {
    if (l->coverage_x && !(l->coverage_x[x] && l->coverage_y[y])) {
      memcpy(to, l->background, 3);
      to[3] = 255;
      continue;
    }
    const f32x4 *from = pixels + (l->columns.first[x] - l->begin);
    const float *weights = l->columns.weights + (size_t)x * l->columns.count;
    f32x4 sum = {}, least = {}, most = (f32x4){} + 65535;
    for (int tap = 0; tap < l->columns.count; tap++) sum += from[tap] * weights[tap];
    sum = __builtin_elementwise_max(__builtin_elementwise_min(sum * 65535 + 0.5f, most), least);
    i32x4 places = __builtin_convertvector(sum, i32x4);
    for (int c = 0; c < 3; c++) to[c] = l->codes[places[c]];
    to[3] = 255;
  }
}

static void FORM(draw_light)(const struct pixels_light *l, int first, int end, char *scratch) {
  size_t line = light_line(l);
  float *codes = (float *)scratch, *light = codes + 5 * line, *sums = light + 3 * line;
  f32x4 *pixels = (f32x4 *)(sums + 16 * 3 * line);
  memset(scratch, 0, 8 * line * sizeof(float));
  for (int top = first; top < end; top += 16) {
    int height = end - top < 16 ? end - top : 16, low = INT32_MAX, high = 0;
    for (int row = 0; row < height; row++) {
      int from = l->rows.first[top + row];
      if (from < low) low = from;
      if (from + l->rows.count > high) high = from + l->rows.count;
    }
    memset(sums, 0, height * 3 * line * sizeof(float));
    for (int y = low; y < high; y++) {
      int is_read = 0;
      for (int row = 0; row < height; row++) {
        int tap = y - l->rows.first[top + row];
        if (tap < 0 || tap >= l->rows.count) continue;
        float weight = l->rows.weights[(size_t)(top + row) * l->rows.count + tap];
        if (weight == 0) continue;
        if (!is_read) FORM(read_light)(l, y, codes, light, line);
        is_read = 1;
        float *restrict sum = sums + row * 3 * line;
        const float *restrict added = light;
        for (size_t i = 0; i < 3 * line; i++) sum[i] += added[i] * weight;
      }
    }
    for (int row = 0; row < height; row++) FORM(weigh_columns)(l, sums + row * 3 * line, pixels, line, top + row);
  }
}
