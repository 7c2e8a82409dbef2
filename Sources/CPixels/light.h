// Drawings in linear light, in floats: rows become light, are added to the sums of the outputs that they are part
// of, and the sums' columns become codes.

typedef float f32x4 __attribute__((vector_size(16)));

// A sample as a code.
INLINE float FORM(code_at)(const struct pixels_light *l, const struct pixels_component *c, const uint8_t *row, int x) {
  ptrdiff_t place = (ptrdiff_t)x * c->step + c->first;
  if (!l->are_words) return row[place];
  return (row[2 * place] | row[2 * place + 1] << 8) * (1 / 257.0f);
}

// The row of a component's plane that holds row `y` of its own grid.
INLINE const uint8_t *FORM(row_of)(const struct pixels_light *l, const struct pixels_component *c, int y) {
  return l->planes[c->plane].bytes + y * l->planes[c->plane].stride;
}

// The codes of a row of pixels: components in the first three of four floats.
INLINE void FORM(read_codes)(const struct pixels_light *l, int y, f32x4 *codes) {
  int count = l->end - l->begin;
  const struct pixels_component *first = &l->components[0];
  const uint8_t *row = FORM(row_of)(l, first, y);
  for (int i = 0; i < count; i++) {
    float code = FORM(code_at)(l, first, row, l->begin + i);
    codes[i] = (f32x4){code, l->component_count == 1 && !l->is_converted ? code : 128, l->component_count == 1 && !l->is_converted ? code : 128, 0};
  }
  for (int component = 1; component < l->component_count; component++) {
    const struct pixels_component *c = &l->components[component];
    if (!l->across.first) {
      const uint8_t *from = FORM(row_of)(l, c, y);
      for (int i = 0; i < count; i++) codes[i][component] = FORM(code_at)(l, c, from, l->begin + i);
      continue;
    }
    const uint8_t *upper = FORM(row_of)(l, c, l->down.first[y]), *lower = FORM(row_of)(l, c, l->down.second[y]);
    float down = l->down.part[y];
    for (int i = 0; i < count; i++) {
      int x = l->begin + i, left = l->across.first[x], right = l->across.second[x];
      float part = l->across.part[x];
      float above = FORM(code_at)(l, c, upper, left) * (1 - part) + FORM(code_at)(l, c, upper, right) * part;
      float below = FORM(code_at)(l, c, lower, left) * (1 - part) + FORM(code_at)(l, c, lower, right) * part;
      codes[i][component] = above * (1 - down) + below * down;
    }
  }
}

// The light of codes, between the entries of a table.
INLINE f32x4 FORM(light_of)(const struct pixels_light *l, f32x4 codes) {
  f32x4 light = {};
  for (int c = 0; c < 3; c++) {
    float place = (codes[c] + 512) * 4;
    place = place < 0 ? 0 : place > 6142 ? 6142 : place;
    int entry = (int)place;
    light[c] = l->light[entry] + (l->light[entry + 1] - l->light[entry]) * (place - entry);
  }
  return light;
}

INLINE void FORM(read_light)(const struct pixels_light *l, int y, f32x4 *codes, f32x4 *light) {
  int count = l->end - l->begin;
  FORM(read_codes)(l, y, codes);
  if (l->is_converted) {
    f32x4 columns[3], offset = {l->offsets[0], l->offsets[1], l->offsets[2], 0};
    for (int i = 0; i < 3; i++) columns[i] = (f32x4){l->factors[0][i], l->factors[1][i], l->factors[2][i], 0};
    for (int i = 0; i < count; i++)
      codes[i] = columns[0] * codes[i][0] + columns[1] * codes[i][1] + columns[2] * codes[i][2] + offset;
  }
  for (int i = 0; i < count; i++) light[i] = FORM(light_of)(l, codes[i]);
}

static void FORM(draw_light)(const struct pixels_light *l, int first, int end, char *scratch) {
  size_t count = l->end - l->begin, line = count + l->columns.count;
  f32x4 *codes = (f32x4 *)scratch, *light = codes + line, *sums = light + line;
  for (int top = first; top < end; top += 16) {
    int height = end - top < 16 ? end - top : 16, low = INT32_MAX, high = 0;
    for (int row = 0; row < height; row++) {
      int from = l->rows.first[top + row];
      if (from < low) low = from;
      if (from + l->rows.count > high) high = from + l->rows.count;
    }
    memset(sums, 0, height * line * sizeof(f32x4));
    for (int y = low; y < high; y++) {
      int is_read = 0;
      for (int row = 0; row < height; row++) {
        int tap = y - l->rows.first[top + row];
        if (tap < 0 || tap >= l->rows.count) continue;
        float weight = l->rows.weights[(size_t)(top + row) * l->rows.count + tap];
        if (weight == 0) continue;
        if (!is_read) FORM(read_light)(l, y, codes, light);
        is_read = 1;
        f32x4 *sum = sums + row * line;
        for (size_t i = 0; i < count; i++) sum[i] += light[i] * weight;
      }
    }
    for (int row = 0; row < height; row++) {
      uint8_t *to = l->pixels + (top + row) * l->stride;
      for (int x = 0; x < l->width; x++, to += 4) {
        if (l->coverage_x && !(l->coverage_x[x] && l->coverage_y[top + row])) {
          memcpy(to, l->background, 3);
          to[3] = 255;
          continue;
        }
        const f32x4 *from = sums + row * line + (l->columns.first[x] - l->begin);
        const float *weights = l->columns.weights + (size_t)x * l->columns.count;
        f32x4 sum = {};
        for (int tap = 0; tap < l->columns.count; tap++) sum += from[tap] * weights[tap];
        for (int c = 0; c < 3; c++) {
          float value = sum[c] * 65535 + 0.5f;
          to[c] = l->codes[value < 0 ? 0 : value > 65535 ? 65535 : (int)value];
        }
        to[3] = 255;
      }
    }
  }
}
