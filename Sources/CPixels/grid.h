// The positions of a warp's outputs in the stored picture, between the nodes of a grid, and what the cells between these show.

INLINE int32_t FORM(least)(int32_t one, int32_t two) { return one < two ? one : two; }

INLINE int32_t FORM(greatest)(int32_t one, int32_t two) { return one > two ? one : two; }

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
  return count > 5 ? WARP_COUNT : count;
}

// What a cell shows, as a `warp_cell`, with the positions of its outputs along rows and columns in the bits above.
INLINE int FORM(find_cell)(const struct pixels_warp *w, int column, int row) {
  const struct pixels_warp_grid *grid = &w->grid;
  const uint8_t *ratios = grid->ratios + 2 * ((ptrdiff_t)row * grid->columns + column);
  if (!ratios[0]) return WARP_EMPTY;
  // Positions between nodes lie within the box around them, or as far beyond it as parabolas swell.
  ptrdiff_t line = 2 * (2 * (ptrdiff_t)grid->columns + 1);
  const int32_t *nodes = grid->nodes + 2 * row * line + 4 * column;
  int32_t least[2], most[2];
  for (int axis = 0; axis < 2; axis++) {
    int32_t across = 0, down = 0;
    least[axis] = most[axis] = nodes[axis];
    for (int i = 0; i < 3; i++) {
      const int32_t *along = nodes + i * line + axis, *below = nodes + 2 * i + axis;
      for (int k = 0; k < 3; k++) {
        least[axis] = FORM(least)(least[axis], along[2 * k]);
        most[axis] = FORM(greatest)(most[axis], along[2 * k]);
      }
      across = FORM(greatest)(across, abs(along[4] - 2 * along[2] + along[0]));
      down = FORM(greatest)(down, abs(below[2 * line] - 2 * below[line] + below[0]));
    }
    int32_t swell = (across >> 2) + (down >> 2) + 3;
    least[axis] -= swell;
    most[axis] += swell;
  }
  int32_t left = least[0], right = most[0], top = least[1], bottom = most[1];
  if (right < w->left || left >= w->right || bottom < w->top || top >= w->bottom) return WARP_EMPTY;
  // The outputs of the cell end with the plane's.
  int32_t bits = grid->shift + WARP_BITS, x = column << bits, y = row << bits, side = 1 << bits;
  int32_t end_x = w->width * w->step_x << WARP_BITS, end_y = w->height * w->step_y << WARP_BITS;
  if (end_x > x + side) end_x = x + side;
  if (end_y > y + side) end_y = y + side;
  int is_inside = left >= w->left && right < w->right && top >= w->top && bottom < w->bottom
      && x >= w->placed_left && end_x <= w->placed_right && y >= w->placed_top && end_y <= w->placed_bottom;
  for (int i = 0; is_inside && i < w->read_count; i++)
    is_inside = FORM(is_inside)(w, &w->reads[i], left, top, right, bottom);
  return (is_inside ? WARP_INSIDE : WARP_EDGE) | FORM(count_positions)(w, ratios[0], w->step_x) << 4
      | FORM(count_positions)(w, ratios[1], w->step_y) << 8;
}

// The position at a part of the way along a cell's side, on the parabola through three nodes.
INLINE int32_t FORM(find_between)(int32_t first, int32_t second, int32_t third, int32_t part, int bits) {
  int32_t half = 1 << bits;
  int32_t bend = (third - 2 * second + first) * (part * (part - half) >> BEND_BITS) >> (bits + 1 - BEND_BITS);
  return first + (((second - first) * part + bend + (half >> 1)) >> bits);
}

// Finds the positions of `count` outputs from column `x` of row `y` on, whose cells are alike. The first begins a cell.
INLINE void FORM(find_run)(const struct pixels_warp *w, int x, int y, int count, int cell, struct warp_run *run) {
  const struct pixels_warp_grid *grid = &w->grid;
  run->bits = grid->shift + WARP_BITS - 1;
  run->cell_bits = grid->shift - (w->step_x > 1);
  run->step = w->step_x << WARP_BITS;
  run->count = count;
  run->columns = cell >> 4 & 15;
  run->rows = cell >> 8;
  run->x = x * run->step;
  run->y = y * w->step_y << WARP_BITS;
  for (int i = 0; i < WARP_COUNT; i++) {
    run->across[i] = warp_offsets[w->step_x - 1][run->columns - 1][i];
    run->down[i] = warp_offsets[w->step_y - 1][run->rows - 1][i];
  }
  int32_t side = 2 << run->bits;
  int first = x >> run->cell_bits, cells = ((x + count - 1) >> run->cell_bits) - first + 1;
  ptrdiff_t line = 2 * (2 * (ptrdiff_t)grid->columns + 1);
  const int32_t *nodes = grid->nodes + 2 * (run->y >> (run->bits + 1)) * line + 4 * first;
  for (int down = 0; down < run->rows; down++) {
    int32_t edges[4 * WARP_CELLS + 2], part = (run->y & (side - 1)) + run->down[down];
    for (int i = 0; i < 4 * cells + 2; i++)
      edges[i] = FORM(find_between)(nodes[i], nodes[i + line], nodes[i + 2 * line], part, run->bits);
    for (int i = 0; i < cells; i++)
      for (int axis = 0; axis < 2; axis++) {
        const int32_t *edge = edges + 4 * i + axis;
        struct warp_line *of = &run->lines[down][i];
        of->start[axis] = edge[0];
        of->slope[axis] = edge[2] - edge[0];
        of->bend[axis] = edge[4] - 2 * edge[2] + edge[0];
      }
  }
}

// A position of eight outputs from output `i` of a run on, in the stored picture. Those behind the last output are anywhere in
// its cell, or in none. `is_wide` says that cells have at least eight outputs a row.
INLINE void FORM(find_position)(
    const struct warp_run *run, int is_wide, int i, int across, int down, i32x8 *x, i32x8 *y) {
  int bits = run->bits;
  int32_t half = 1 << bits;
  i32x8 none = {}, lanes = {0, 1, 2, 3, 4, 5, 6, 7};
  const struct warp_line *lines = run->lines[down];
  i32x8 start[2], slope[2], bend[2], places = (lanes + i) * run->step;
  if (is_wide) {
    // All eight lie in one cell.
    const struct warp_line *of = &lines[i >> run->cell_bits];
    for (int axis = 0; axis < 2; axis++) {
      start[axis] = none + of->start[axis];
      slope[axis] = none + of->slope[axis];
      bend[axis] = none + of->bend[axis];
    }
  } else {
    for (int k = 0; k < 8; k++) {
      const struct warp_line *of = &lines[(i + k < run->count ? i + k : run->count - 1) >> run->cell_bits];
      for (int axis = 0; axis < 2; axis++) {
        start[axis][k] = of->start[axis];
        slope[axis][k] = of->slope[axis];
        bend[axis][k] = of->bend[axis];
      }
    }
  }
  i32x8 part = (places & (2 * half - 1)) + run->across[across], square = part * (part - half) >> BEND_BITS;
  int shift = bits + 1 - BEND_BITS;
  *x = start[0] + ((slope[0] * part + (bend[0] * square >> shift) + (half >> 1)) >> bits);
  *y = start[1] + ((slope[1] * part + (bend[1] * square >> shift) + (half >> 1)) >> bits);
}

// All bits where a position shows the source.
INLINE i32x8 FORM(find_shown)(
    const struct pixels_warp *w, const struct warp_run *run, int i, int across, int down, i32x8 x, i32x8 y) {
  i32x8 none = {}, lanes = {0, 1, 2, 3, 4, 5, 6, 7};
  int32_t point_y = run->y + run->down[down];
  if (point_y < w->placed_top || point_y >= w->placed_bottom) return none;
  i32x8 point_x = (lanes + i) * run->step + (run->x + run->across[across]);
  return (i32x8)(point_x >= none + w->placed_left) & (i32x8)(point_x < none + w->placed_right)
      & (i32x8)(x >= none + w->left) & (i32x8)(x < none + w->right) & (i32x8)(y >= none + w->top)
      & (i32x8)(y < none + w->bottom);
}
