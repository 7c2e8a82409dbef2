// A drawing, sixteen rows at a time. Included once for each form.
#include "arithmetic.h"
#include "rows.h"
#include "columns.h"
#include "finish.h"
#include "convert.h"
#include "light.h"
#include "turn.h"
#include "grid.h"
#include "warp.h"

// Draws up to sixteen outputs of sixteen rows, from column `x` of row `y` on.
INLINE void FORM(draw_tile)(
    const struct pixels_drawing *drawing, const struct bands *bands, int x, int y, int width, int height,
    const i16x16 *covered, int outputs) {
  _Alignas(32) u8x16 codes[3][16];
  i16x16 values[3][16], coverage[16];
  int inputs = 0;
  for (int s = 0; s < drawing->signal_count; s++) inputs += drawing->signals[s].component_count;
  // Those that are missing have no part in the outputs, but are read.
  if (inputs < 3 && !drawing->is_identity) memset(values, 0, sizeof values);
  for (int s = 0; s < drawing->signal_count; s++) {
    const struct pixels_signal *signal = &drawing->signals[s];
    for (int c = 0; c < signal->component_count; c++) {
      const struct pixels_component *component = &signal->components[c];
      FORM(sum_columns)(&signal->columns, component, signal->begin, x, width, bands->of[s][component->plane],
                        values[signal->input + c]);
    }
  }
  if (drawing->clamps_inputs) {
    i16x16 most = (i16x16){} + 255 * 64, least = {};
    for (int i = 0; i < 3; i++)
      for (int column = 0; column < 16; column++)
        values[i][column] = __builtin_elementwise_max(__builtin_elementwise_min(values[i][column], most), least);
  }
  if (covered)
    for (int column = 0; column < 16; column++) {
      i16x16 across = (i16x16){} + (int16_t)drawing->coverage_x[x + (column < width ? column : width - 1)], none = {};
      coverage[column] = FORM(packs)(FORM(madd)(LOW(*covered, none), LOW(across, none)) >> 14,
                                     FORM(madd)(HIGH(*covered, none), HIGH(across, none)) >> 14);
    }
  for (int i = 0; i < outputs; i++) FORM(convert_codes)(drawing, values, i, covered ? coverage : NULL, codes[i]);
  switch (drawing->output) {
  case PIXELS_RGBA:
    FORM(write_pixels)(codes[0], codes[1], codes[2], drawing->planes[0] + y * drawing->strides[0] + 4 * x,
                       drawing->strides[0], width, height);
    break;
  default:
    for (int i = 0; i < outputs; i++)
      FORM(write_plane)(codes[i], drawing->planes[i] + y * drawing->strides[i] + x, drawing->strides[i], width, height);
  }
}

static void FORM(draw)(const struct pixels_drawing *drawing, int first, int end, char *scratch) {
  struct bands bands;
  const uint8_t **pointers = (const uint8_t **)scratch;
  scratch += pointers_size(drawing);
  for (int s = 0; s < drawing->signal_count; s++)
    for (int plane = 0; plane < drawing->signals[s].plane_count; plane++) {
      bands.of[s][plane] = (int16_t *)scratch;
      scratch += band_size(&drawing->signals[s]);
    }
  int outputs = drawing->output == PIXELS_ONE_PLANE ? 1 : drawing->output == PIXELS_TWO_PLANES ? 2 : 3;
  for (int y = first; y < end; y += 16) {
    int height = end - y < 16 ? end - y : 16;
    for (int s = 0; s < drawing->signal_count; s++)
      for (int plane = 0; plane < drawing->signals[s].plane_count; plane++)
        FORM(sum_rows)(&drawing->signals[s], plane, y, drawing->height, pointers, bands.of[s][plane]);
    i16x16 covered;
    if (drawing->coverage_y) {
      int16_t rows[16];
      for (int row = 0; row < 16; row++) rows[row] = drawing->coverage_y[row < height ? y + row : y];
      covered = LOAD(i16x16, rows);
    }
    for (int x = 0; x < drawing->width; x += 16) {
      int width = drawing->width - x < 16 ? drawing->width - x : 16;
      if (width < 16 && drawing->width >= 16) {
        x = drawing->width - 16;
        width = 16;
      }
      if (drawing->coverage_y) FORM(draw_tile)(drawing, &bands, x, y, width, height, &covered, outputs);
      else if (outputs == 1) FORM(draw_tile)(drawing, &bands, x, y, width, height, NULL, 1);
      else if (outputs == 2) FORM(draw_tile)(drawing, &bands, x, y, width, height, NULL, 2);
      else FORM(draw_tile)(drawing, &bands, x, y, width, height, NULL, 3);
    }
  }
}
