// Chooses among the forms of the steps at run time, and lays out their memory.
#include "CPixels.h"

#include <stdlib.h>

#include "vectors.h"

// All that takes or returns vectors is inlined: how they would be passed does not matter.
#pragma clang diagnostic ignored "-Wpsabi"

// The samples that are summed at a time: sixteen rows of them stay in the first cache.
enum { SUM_CHUNK = 2048 };

// The outputs that are converted at a time.
enum { CONVERT_CHUNK = 64 };

// The sums of each plane of each signal.
struct bands {
  int16_t *of[2][3];
};

// The outputs of a warp that are drawn at a time, the most cells that they lie in, and the most positions of each along rows and
// along columns.
enum { WARP_RUN = 256, WARP_CELLS = 32, WARP_COUNT = 8 };
// The bits of a place's square that parabolas leave out, so that products fit 32 bits: zeros for 1, 2, 4 or 8 points an output.
enum { BEND_BITS = 4 };

// The binary logarithm of the parts of a pixel of the target in which positions are counted.
enum { WARP_BITS = 6 };

// What a cell of a grid shows: nothing of the source, samples that may all be read, or some at edges.
enum warp_cell { WARP_EMPTY, WARP_INSIDE, WARP_EDGE };

// Positions of the stored picture along a line through a cell, at its three nodes: x and y of the first, the way from it to the
// second, and the difference between the two ways.
struct warp_line {
  int32_t start[2], slope[2], bend[2];
};

// Neighbouring outputs whose cells are alike, in whole vectors.
struct warp_run {
  int count;
  // The binary logarithm of half a cell's side, in 1/64 of a pixel.
  int bits;
  // The binary logarithm of the outputs of a cell's row, and their distances from one to the next in 1/64 of a pixel.
  int cell_bits, step;
  // The first output's corner in the target, in 1/64 of a pixel.
  int32_t x, y;
  // The positions of an output along rows and along columns, and their distances from its corner.
  int columns, rows;
  int32_t across[WARP_COUNT], down[WARP_COUNT];
  // For each row of positions, each cell's.
  struct warp_line lines[WARP_COUNT][WARP_CELLS];
};

// The middles of `count` equal parts of one or two pixels, in 1/64 of a pixel, rounded. Those from `count` on are not read.
#define MIDDLE(pixels, count, i) ((((pixels) << WARP_BITS) * (2 * (i) + 1) + (count)) / (2 * (count)))
#define MIDDLES(pixels, count) \
  { MIDDLE(pixels, count, 0), MIDDLE(pixels, count, 1), MIDDLE(pixels, count, 2), MIDDLE(pixels, count, 3), \
    MIDDLE(pixels, count, 4), MIDDLE(pixels, count, 5), MIDDLE(pixels, count, 6), MIDDLE(pixels, count, 7) }
#define MIDDLES_OF(pixels) \
  { MIDDLES(pixels, 1), MIDDLES(pixels, 2), MIDDLES(pixels, 3), MIDDLES(pixels, 4), \
    MIDDLES(pixels, 5), MIDDLES(pixels, 6), MIDDLES(pixels, 7), MIDDLES(pixels, 8) }

static const int16_t warp_offsets[2][WARP_COUNT][WARP_COUNT] = {MIDDLES_OF(1), MIDDLES_OF(2)};

static size_t aligned(size_t size) { return (size + 63) & ~(size_t)63; }

// Weights of zero may lie behind the last sample.
static size_t band_size(const struct pixels_signal *signal) {
  size_t samples = signal->end - signal->begin, behind = 4 * (size_t)signal->columns.count;
  return aligned((samples + behind) * 16 * sizeof(int16_t));
}

static size_t pointers_size(const struct pixels_drawing *drawing) {
  size_t most = 0;
  for (int s = 0; s < drawing->signal_count; s++)
    if (most < (size_t)drawing->signals[s].rows.count) most = drawing->signals[s].rows.count;
  return aligned(most * 16 * sizeof(void *));
}

// The floats of a line of light, in whole vectors. Weights of zero may lie behind the last pixel.
static size_t light_line(const struct pixels_light *light) {
  return (light->end - light->begin + light->columns.count + 15) & ~(size_t)15;
}

#define FORM(name) name##_baseline
#include "draw.h"
#undef FORM

#if defined(__x86_64__)
#define FORM(name) name##_avx2
#define FORM_AVX2
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#include "draw.h"
#pragma clang attribute pop
#undef FORM_AVX2
#undef FORM
#endif

enum pixels_instructions pixels_best_instructions(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return PIXELS_AVX2;
#endif
  return PIXELS_BASELINE;
}

const char *pixels_name(enum pixels_instructions instructions) {
  if (instructions == PIXELS_AVX2) return "AVX2";
#if defined(__x86_64__)
  return "SSE2";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "C";
#endif
}

size_t pixels_scratch_size(const struct pixels_drawing *drawing) {
  size_t size = pointers_size(drawing);
  for (int s = 0; s < drawing->signal_count; s++)
    size += drawing->signals[s].plane_count * band_size(&drawing->signals[s]);
  return size;
}

#if defined(__x86_64__)
#define BY_FORM(name, ...) (instructions == PIXELS_AVX2 ? name##_avx2(__VA_ARGS__) : name##_baseline(__VA_ARGS__))
#else
#define BY_FORM(name, ...) ((void)instructions, name##_baseline(__VA_ARGS__))
#endif

void pixels_draw(
    enum pixels_instructions instructions, const struct pixels_drawing *drawing, int32_t first, int32_t end, void *scratch) {
  BY_FORM(draw, drawing, first, end, scratch);
}

size_t pixels_light_scratch_size(const struct pixels_light *light) {
  // Lines of codes, of samples between which they lie, of light, of sixteen sums, and of pixels of four floats.
  return aligned(light_line(light) * (3 + 2 + 3 + 16 * 3 + 4) * sizeof(float));
}

void pixels_draw_light(
    enum pixels_instructions instructions, const struct pixels_light *light, int32_t first, int32_t end, void *scratch) {
  BY_FORM(draw_light, light, first, end, scratch);
}

size_t pixels_warp_scratch_size(const struct pixels_warp *warp) {
  return aligned((size_t)warp->grid.columns * sizeof(uint16_t));
}

void pixels_draw_warp(
    enum pixels_instructions instructions, const struct pixels_warp *warp, int32_t first, int32_t end, void *scratch) {
  BY_FORM(draw_warp, warp, first, end, scratch);
}

void pixels_convert(
    enum pixels_instructions instructions, const struct pixels_conversion *conversion, int32_t first, int32_t end) {
  BY_FORM(convert, conversion, first, end);
}

void pixels_turn(
    enum pixels_instructions instructions, const uint8_t *from, ptrdiff_t from_stride, uint8_t *to, ptrdiff_t to_stride, int32_t width, int32_t height,
    int32_t sample_size, int32_t flips_x, int32_t flips_y) {
  if (sample_size == 1) BY_FORM(turn_plane, from, from_stride, to, to_stride, width, height, flips_x, flips_y);
  else BY_FORM(turn_pixels, from, from_stride, to, to_stride, width, height, flips_x, flips_y);
}
