// Draws pictures on the CPU: the steps of a drawing plan, sixteen rows at a time, so that what lies between the
// steps stays in the cache.
//
// Values between steps are codes times 64 in sixteen bits, so that kernels may overshoot 0...255 by half of it.
#ifndef CPIXELS_H
#define CPIXELS_H

#include <stddef.h>
#include <stdint.h>

// The forms of the steps.
enum pixels_instructions {
  // What every processor of this kind has: SSE2, NEON, or plain C.
  PIXELS_BASELINE,
  PIXELS_AVX2,
};

// The fastest form that this processor carries out.
enum pixels_instructions pixels_best_instructions(void);

// "AVX2", "SSE2", "NEON" or "C".
const char *pixels_name(enum pixels_instructions instructions);

// The weights of each output along one axis. Output i is the sum of `count` neighbouring samples, from first[i] on,
// times weights[i * count ...], shifted right by `shift`, with rounding. `count` is even.
struct pixels_taps {
  const int32_t *first;
  const int16_t *weights;
  int32_t count;
  int32_t shift;
  // The sum of an output's weights.
  int32_t total;
};

// The stored samples that a sum of rows reads.
enum pixels_samples {
  // All bytes of a row.
  PIXELS_BYTES,
  // Every other byte, from the first or the second.
  PIXELS_EVEN_BYTES,
  PIXELS_ODD_BYTES,
  // Sixteen bits, little-endian, 0...65535.
  PIXELS_WORDS,
};

struct pixels_plane {
  const uint8_t *bytes;
  ptrdiff_t stride;
};

// A component of a signal: its sample k is the summed sample `first + k * step` of the plane.
struct pixels_component {
  int32_t plane;
  int32_t step;
  int32_t first;
};

// A signal: up to three planes that are summed alike, and up to three components.
struct pixels_signal {
  struct pixels_plane planes[3];
  int32_t plane_count;
  enum pixels_samples samples;
  // The rows of the planes.
  int32_t row_count;
  // The summed samples of each row: from `begin` to before `end`.
  int32_t begin, end;
  struct pixels_taps rows;
  struct pixels_taps columns;
  struct pixels_component components[3];
  int32_t component_count;
  // Which of the conversion's inputs the first component is.
  int32_t input;
};

enum pixels_output {
  // Output 0 to one plane.
  PIXELS_ONE_PLANE,
  // Two outputs to a plane each.
  PIXELS_TWO_PLANES,
  // Four bytes a pixel: outputs 0 to 2, and 255.
  PIXELS_RGBA,
};

// A drawing of signals, converted and written as bytes.
struct pixels_drawing {
  struct pixels_signal signals[2];
  int32_t signal_count;
  int32_t width, height;
  // Output i is the sum of inputs times factors[i][...] / 8192, plus offsets[i] in codes times 2^19.
  int16_t factors[3][4];
  int32_t offsets[3];
  // Whether outputs are inputs, from `first_input` on, unchanged.
  int32_t is_identity, first_input;
  // Whether inputs are brought within 0...255 before they are converted.
  int32_t clamps_inputs;
  // The part of each column and row that the picture covers, 0...16384; both NULL where it covers all.
  const int16_t *coverage_x, *coverage_y;
  // The outputs where it does not, in codes times 16.
  int16_t background[3];
  enum pixels_output output;
  uint8_t *planes[2];
  ptrdiff_t strides[2];
};

// Draws rows from `first` to before `end`; `first` is a multiple of 16. `scratch` holds
// pixels_scratch_size bytes, aligned to 64.
void pixels_draw(
    enum pixels_instructions instructions, const struct pixels_drawing *drawing, int32_t first, int32_t end, void *scratch);

size_t pixels_scratch_size(const struct pixels_drawing *drawing);

// The weights of each output along one axis, as in pixels_taps.
struct pixels_light_taps {
  const int32_t *first;
  const float *weights;
  int32_t count;
};

// Two samples of a component around each pixel along one axis, and the part of the second.
struct pixels_neighbours {
  const int32_t *first, *second;
  const float *part;
};

// A drawing in linear light, to pixels. Samples become R'G'B' codes, these light 0...1; its sums become codes again.
struct pixels_light {
  struct pixels_plane planes[3];
  struct pixels_component components[3];
  // 1: a grey picture.
  int32_t component_count;
  int32_t are_words;
  // Where the second and third component lie along x and y; NULL where they are as dense as the first.
  struct pixels_neighbours across, down;
  // From components to R'G'B' codes.
  int32_t is_converted;
  float factors[3][3], offsets[3];
  // The light of the codes from -512 to before 1024, in quarters of a code.
  const float *light;
  // The code of each 65535th of light.
  const uint8_t *codes;
  // The pixels of a row that are read.
  int32_t begin, end;
  struct pixels_light_taps rows, columns;
  int32_t width, height;
  // Whether the picture covers a column or row; both NULL where it covers all.
  const int16_t *coverage_x, *coverage_y;
  uint8_t background[3];
  uint8_t *pixels;
  ptrdiff_t stride;
};

// Draws rows from `first` to before `end`; `first` is a multiple of 16. `scratch` holds
// pixels_light_scratch_size bytes, aligned to 64.
void pixels_draw_light(
    enum pixels_instructions instructions, const struct pixels_light *light, int32_t first, int32_t end, void *scratch);

size_t pixels_light_scratch_size(const struct pixels_light *light);

// A grid over the pixels of a target, with positions of the stored picture at its nodes, in 1/256 of a pixel. A cell has three
// nodes along each side.
struct pixels_warp_grid {
  // x and y of each node, row by row.
  const int32_t *nodes;
  // For each cell, the source pixels from one pixel of the target to the next along rows and columns, in 1/16; zeros where it
  // shows nothing.
  const uint8_t *ratios;
  // A cell's side is 1 << shift pixels, 2...16.
  int32_t shift;
  // The cells of each row; there are twice as many nodes and one.
  int32_t columns;
};

// The samples of a plane along one axis that may be read. Position x of the stored picture is (x * eighths / 8 + offset) >> shift
// in the plane.
struct pixels_warp_span {
  int32_t first, last;
  int32_t eighths, offset, shift;
};

// Components of a signal that lie in one plane: bytes, or words.
struct pixels_warp_read {
  struct pixels_plane plane;
  struct pixels_warp_span columns, rows;
  // Component c of sample k is firsts[c] + k * step in its row.
  int32_t step, firsts[3];
  int32_t component_count;
  // Which of the conversion's inputs the first component is.
  int32_t input;
};

enum pixels_warp_kernel {
  PIXELS_WARP_NEAREST,
  PIXELS_WARP_BILINEAR,
  PIXELS_WARP_BICUBIC,
};

// A drawing of a warped view. Each output is the mean over the positions of its pixels that show the source, converted.
struct pixels_warp {
  struct pixels_warp_grid grid;
  struct pixels_warp_read reads[3];
  int32_t read_count;
  // Whether samples have sixteen bits: R'G'B', 0...65535.
  int32_t are_words;
  enum pixels_warp_kernel kernel;
  // The weights of four samples, of 4096, for each 1/256 of a sample.
  const int16_t *cubic;
  // Columns and rows of outputs, and the pixels of each, 1 or 2 along each axis.
  int32_t width, height, step_x, step_y;
  // Whether an output may have several positions, and the pixels of the finest signal's samples.
  int32_t supersamples, finest;
  // The part of the target that the picture covers, in 1/64 of a pixel.
  int32_t placed_left, placed_top, placed_right, placed_bottom;
  // The part of the stored picture that is shown, in 1/256 of a pixel.
  int32_t left, top, right, bottom;
  // Output i is the sum of inputs, codes 0...255, times factors[i][...], plus offsets[i].
  float factors[3][3], offsets[3], background[3];
  // Whether inputs are brought within 0...255 before they are converted.
  int32_t clamps_inputs;
  enum pixels_output output;
  uint8_t *planes[2];
  ptrdiff_t strides[2];
};

// Draws rows from `first` to before `end`. `scratch` holds pixels_warp_scratch_size bytes, aligned to 64.
void pixels_draw_warp(
    enum pixels_instructions instructions, const struct pixels_warp *warp, int32_t first, int32_t end, void *scratch);

size_t pixels_warp_scratch_size(const struct pixels_warp *warp);

// Converts rows of pixels, of which alpha is ignored, to one or two planes of a sample for step_x by step_y pixels
// (1 or 2 each), rows from `first` to before `end` of the planes. At odd edges the last pixel counts twice.
struct pixels_conversion {
  const uint8_t *pixels;
  ptrdiff_t stride;
  int32_t width, height;
  int32_t step_x, step_y;
  int32_t output_count;
  // Output i is the sum of R, G and B times factors[i][...] / 16384, plus offsets[i] in codes times 2^14.
  int16_t factors[2][3];
  int32_t offsets[2];
  uint8_t *planes[2];
  ptrdiff_t strides[2];
};

void pixels_convert(
    enum pixels_instructions instructions, const struct pixels_conversion *conversion, int32_t first, int32_t end);

// Copies width x height samples of one or four bytes, columns to rows. `flips_x` reverses the columns of the source,
// `flips_y` its rows.
void pixels_turn(
    enum pixels_instructions instructions, const uint8_t *from, ptrdiff_t from_stride, uint8_t *to, ptrdiff_t to_stride, int32_t width, int32_t height,
    int32_t sample_size, int32_t flips_x, int32_t flips_y);

// Blends `count` pixels of four bytes, or of four words, over a colour (in the order in which they are stored, codes
// 0...255) and writes four words for each, of which the last is 65535.
void pixels_blend(const uint8_t *from, int32_t are_words, const uint8_t behind[3], uint16_t *to, int32_t count);

// Copies `count` pixels of R, G, B and any fourth byte, with an alpha of 255.
void pixels_copy_opaque(const uint8_t *from, uint8_t *to, int32_t count);

enum pixels_content {
  PIXELS_COLOR,
  PIXELS_GRADIENT,
  // Pixels of the layer's size with their alpha.
  PIXELS_PIXELS,
  // Samples whose grid is stretched over the layer, enlarged by quadratic B-splines.
  PIXELS_SPLINE,
};

// A layer of a composition; docs/semantics.md has the formulas. Lengths are in the layer's pixels.
struct pixels_layer {
  enum pixels_content content;
  int32_t width, height;
  // From the composition's (x, y) to the layer's position: x * to_x[0] + y * to_x[1] + to_x[2], and likewise y.
  double to_x[3], to_y[3];
  int32_t is_transformed;
  // The shape's corners and radius.
  float shape_x, shape_y, shape_width, shape_height, radius;
  int32_t has_border;
  float border_width, border[3];
  float opacity, scale[3], offset[3];
  // The colour, or a gradient's ends and its part at (0, 0) and the change along x and y.
  float colors[2][3], ramp[3];
  // R, G, B, A bytes.
  const uint8_t *pixels;
  ptrdiff_t stride;
  // The size of what `pixels` has.
  int32_t pixels_width, pixels_height;
};

// Draws a part of a layer over the canvas' R, G, B, A bytes.
void pixels_draw_layer(
    const struct pixels_layer *layer, uint8_t *canvas, ptrdiff_t stride, int32_t x, int32_t y, int32_t width, int32_t height);

// Fills a part of the canvas with a colour.
void pixels_fill(uint8_t *canvas, ptrdiff_t stride, uint32_t color, int32_t x, int32_t y, int32_t width, int32_t height);

#endif
