// The positions of a warp's outputs in the stored picture, between the nodes of a grid, and what the cells between these show.

typedef uint32_t u32x8 __attribute__((vector_size(32)));

// The least and the greatest of four.
INLINE int32_t FORM(least)(int32_t a, int32_t b, int32_t c, int32_t d) {
  int32_t one = a < b ? a : b, two = c < d ? c : d;
  return one < two ? one : two;
}

INLINE int32_t FORM(greatest)(int32_t a, int32_t b, int32_t c, int32_t d) {
  int32_t one = a > b ? a : b, two = c > d ? c : d;
  return one > two ? one : two;
}

// The sample at or before a position along one axis: the first of two between which it lies, unless it is the nearest.
INLINE int32_t FORM(sample_at)(const struct pixels_warp *w, const struct pixels_warp_span *span, int32_t position) {
  int32_t place = ((position * span->eighths >> 3) + span->offset) >> span->shift;
  return (w->kernel == PIXELS_WARP_NEAREST ? place : place - 128) >> 8;
}

// Whether all samples that positions in a box need may be read, by loads of four bytes.
INLINE int FORM(is_inside)(
    const struct pixels_warp *w, const struct pixels_warp_read *read, int32_t left, int32_t top, int32_t right,
    int32_t bottom) {
  int before = w->kernel == PIXELS_WARP_BICUBIC;
  // The samples behind the first of two that are loaded with it.
  int loaded = read->step == 1 ? 3 : read->step == 3 ? 2 : 1;
  return read->plane.stride * (read->rows.last + 1) <= INT32_MAX
      && FORM(sample_at)(w, &read->columns, left) - before >= read->columns.first
      && FORM(sample_at)(w, &read->columns, right) + before + loaded <= read->columns.last
      && FORM(sample_at)(w, &read->rows, top) - before >= read->rows.first
      && FORM(sample_at)(w, &read->rows, bottom) + before + 1 <= read->rows.last;
}

// The positions along one axis of an output in a cell of this ratio.
INLINE int FORM(count_positions)(const struct pixels_warp *w, int ratio, int step) {
  int sixteenths = ratio * step / w->finest;
  if (!w->supersamples || sixteenths <= 18) return 1;
  int count = (3 * sixteenths + 31) / 32;
  return count > WARP_COUNT ? WARP_COUNT : count;
}

// What a cell shows, as a `warp_cell`, with the positions of its outputs along rows and columns in the bits above.
INLINE int FORM(find_cell)(const struct pixels_warp *w, int column, int row) {
  const struct pixels_warp_grid *grid = &w->grid;
  const uint8_t *ratios = grid->ratios + 2 * ((ptrdiff_t)row * grid->columns + column);
  if (!ratios[0]) return WARP_EMPTY;
  // Positions between nodes lie within the box around them.
  const int32_t *a = grid->nodes + 2 * ((ptrdiff_t)row * (grid->columns + 1) + column), *b = a + 2 * (grid->columns + 1);
  int32_t left = FORM(least)(a[0], a[2], b[0], b[2]), right = FORM(greatest)(a[0], a[2], b[0], b[2]);
  int32_t top = FORM(least)(a[1], a[3], b[1], b[3]), bottom = FORM(greatest)(a[1], a[3], b[1], b[3]);
  if (right < w->left || left >= w->right || bottom < w->top || top >= w->bottom) return WARP_EMPTY;
  // The outputs of the cell end with the plane's.
  int32_t x = column << (grid->shift + 4), y = row << (grid->shift + 4), side = 16 << grid->shift;
  int32_t end_x = w->width * w->step_x * 16, end_y = w->height * w->step_y * 16;
  if (end_x > x + side) end_x = x + side;
  if (end_y > y + side) end_y = y + side;
  int is_inside = left >= w->left && right < w->right && top >= w->top && bottom < w->bottom
      && x >= w->placed_left && end_x <= w->placed_right && y >= w->placed_top && end_y <= w->placed_bottom;
  for (int i = 0; is_inside && i < w->read_count; i++)
    is_inside = FORM(is_inside)(w, &w->reads[i], left, top, right, bottom);
  return (is_inside ? WARP_INSIDE : WARP_EDGE) | FORM(count_positions)(w, ratios[0], w->step_x) << 4
      | FORM(count_positions)(w, ratios[1], w->step_y) << 8;
}

// Positions between the edges of cells, for eight outputs from output `x + i` on; the last of `count` is repeated.
INLINE void FORM(spread)(
    const struct pixels_warp *w, const int32_t *edges, int x, int i, int count, int down, struct warp_run *run) {
  // The outputs of a cell along x are 1 << across.
  int across = w->grid.shift - (w->step_x > 1), first = x >> across;
  uint32_t side = 1u << run->bits, half = side >> 1, step = 16 * w->step_x;
  if (across >= 3) {
    // All eight lie in one cell.
    const int32_t *edge = edges + 2 * (((x + i) >> across) - first);
    u32x8 lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    u32x8 places = lanes * step + (((uint32_t)(x + i) * step) & (side - 1));
    uint32_t slope_x = (uint32_t)edge[2] - (uint32_t)edge[0], slope_y = (uint32_t)edge[3] - (uint32_t)edge[1];
    STORE(run->start_x[down] + i, places * slope_x + ((uint32_t)edge[0] * side + half));
    STORE(run->start_y[down] + i, places * slope_y + ((uint32_t)edge[1] * side + half));
    STORE(run->slope_x[down] + i, (u32x8){} + slope_x);
    STORE(run->slope_y[down] + i, (u32x8){} + slope_y);
    return;
  }
  for (int k = i; k < i + 8; k++) {
    int output = x + (k < count ? k : count - 1);
    const int32_t *edge = edges + 2 * ((output >> across) - first);
    uint32_t place = ((uint32_t)output * step) & (side - 1);
    run->slope_x[down][k] = (uint32_t)edge[2] - (uint32_t)edge[0];
    run->slope_y[down][k] = (uint32_t)edge[3] - (uint32_t)edge[1];
    run->start_x[down][k] = place * run->slope_x[down][k] + (uint32_t)edge[0] * side + half;
    run->start_y[down][k] = place * run->slope_y[down][k] + (uint32_t)edge[1] * side + half;
  }
}

// Finds the positions of `count` outputs from column `x` of row `y` on, whose cells are alike.
INLINE void FORM(find_run)(const struct pixels_warp *w, int x, int y, int count, int cell, struct warp_run *run) {
  const struct pixels_warp_grid *grid = &w->grid;
  int across = grid->shift - (w->step_x > 1);
  run->bits = grid->shift + 4;
  run->count = (count + 7) & ~7;
  run->columns = cell >> 4 & 15;
  run->rows = cell >> 8;
  run->x = x * w->step_x * 16;
  run->y = y * w->step_y * 16;
  for (int i = 0; i < WARP_COUNT; i++) {
    run->across[i] = warp_offsets[w->step_x - 1][run->columns - 1][i];
    run->down[i] = warp_offsets[w->step_y - 1][run->rows - 1][i];
  }
  int32_t side = 1 << run->bits, half = side >> 1;
  int first = x >> across, cells = ((x + count - 1) >> across) - first + 1;
  ptrdiff_t line = 2 * ((ptrdiff_t)grid->columns + 1);
  const int32_t *top = grid->nodes + (run->y >> run->bits) * line + 2 * first, *bottom = top + line;
  for (int down = 0; down < run->rows; down++) {
    int32_t edges[2 * (WARP_RUN + 1)];
    int32_t lower = (run->y & (side - 1)) + run->down[down], upper = side - lower;
    for (int i = 0; i < 2 * (cells + 1); i++)
      edges[i] = (top[i] * upper + bottom[i] * lower + half) >> run->bits;
    for (int i = 0; i < run->count; i += 8) FORM(spread)(w, edges, x, i, count, down, run);
  }
}

// A position of eight outputs in the stored picture.
INLINE void FORM(find_position)(const struct warp_run *run, int i, int across, int down, i32x8 *x, i32x8 *y) {
  uint32_t place = run->across[across];
  *x = (i32x8)(LOAD(u32x8, run->start_x[down] + i) + LOAD(u32x8, run->slope_x[down] + i) * place) >> run->bits;
  *y = (i32x8)(LOAD(u32x8, run->start_y[down] + i) + LOAD(u32x8, run->slope_y[down] + i) * place) >> run->bits;
}

// All bits where a position shows the source.
INLINE i32x8 FORM(find_shown)(
    const struct pixels_warp *w, const struct warp_run *run, int i, int across, int down, i32x8 x, i32x8 y) {
  i32x8 none = {}, lanes = {0, 1, 2, 3, 4, 5, 6, 7};
  int32_t point_y = run->y + run->down[down];
  if (point_y < w->placed_top || point_y >= w->placed_bottom) return none;
  i32x8 point_x = (lanes + i) * (w->step_x * 16) + (run->x + (int32_t)run->across[across]);
  return (i32x8)(point_x >= none + w->placed_left) & (i32x8)(point_x < none + w->placed_right)
      & (i32x8)(x >= none + w->left) & (i32x8)(x < none + w->right) & (i32x8)(y >= none + w->top)
      & (i32x8)(y < none + w->bottom);
}
