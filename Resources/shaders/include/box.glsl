// Box filters for four outputs at a time. A row of a plane is read as texels of four bytes: four samples of one
// component, or two or one of each of several. Planes are normalised bytes, which software renderers fetch twice as
// fast as integers; the row weights scale them back to codes. TEXELS texels of ROWS rows hold the boxes of four
// neighbouring outputs.
//
// Macros define the functions: ADD_ROWS adds up texels down the columns with the row weights; SPREAD gives the four
// outputs of the component whose first sample is the texel's byte FIRST_BYTE. (Passing the weights of repeating boxes
// as uniforms was no faster on llvmpipe than computing them.)

#define SAMPLE(SUMS, I, C, SAMPLES, FIRST_BYTE) SUMS[I][FIRST_BYTE + C * (4 / SAMPLES)]

// `box`: the start of the first of four boxes, in samples from the group's first, and the width of each. `span`: the
// first and last sample of the crop, counted alike. Beyond them, the sample at that end is repeated. Without
// REACHES_OVER no box reaches beyond them.
const float far = 1.0e6;

#ifdef REACHES_OVER
#define SAMPLE_START(K, SPAN) ((K) > SPAN.y ? far : (K) <= SPAN.x ? -far : (K))
#define SAMPLE_END(K, SPAN) ((K) < SPAN.x ? -far : (K) >= SPAN.y ? far : (K) + 1.0)
#else
#define SAMPLE_START(K, SPAN) (K)
#define SAMPLE_END(K, SPAN) ((K) + 1.0)
#endif

#define DEFINE_ADD_ROWS(ADD_ROWS, TEXELS, ROWS, ROW_WEIGHT) \
  void ADD_ROWS( \
    highp sampler2D plane, ivec2 first, int lastTexel, vec2 row, vec2 rowSpan, int lastRow, \
    out vec4 sums[TEXELS]) { \
    for (int i = 0; i < TEXELS; ++i) sums[i] = vec4(0.0); \
    for (int j = 0; j < ROWS; ++j) { \
      float weight = 255.0 * ROW_WEIGHT(row, rowSpan, float(j)); \
      int y = min(first.y + j, lastRow); \
      for (int i = 0; i < TEXELS; ++i) \
        sums[i] += weight * texelFetch(plane, ivec2(min(first.x + i, lastTexel), y), 0); \
    } \
  }

#define DEFINE_SPREAD(SPREAD, TEXELS, SAMPLES, FIRST_BYTE, WEIGHTS, WIDTH) \
  vec4 SPREAD(vec4 sums[TEXELS], vec2 box, vec2 span) { \
    vec4 total = vec4(0.0); \
    for (int i = 0; i < TEXELS; ++i) \
      for (int c = 0; c < SAMPLES; ++c) \
        total += SAMPLE(sums, i, c, SAMPLES, FIRST_BYTE) * WEIGHTS(box, span, float(i * SAMPLES + c)); \
    return total / (WIDTH); \
  }

// The weight of sample k in each of four boxes, times their width, and in one box: the part that the box covers.
vec4 coverages(vec2 box, vec2 span, float k) {
  vec4 starts = box.x + box.y * vec4(0.0, 1.0, 2.0, 3.0);
  vec4 covered = min(starts + box.y, vec4(SAMPLE_END(k, span))) - max(starts, vec4(SAMPLE_START(k, span)));
  return max(vec4(0.0), covered);
}

float coverage(vec2 box, vec2 span, float k) {
  float covered = min(box.x + box.y, SAMPLE_END(k, span)) - max(box.x, SAMPLE_START(k, span));
  return max(0.0, covered) / box.y;
}

// The same, weighted by nearness to the box's centre: bilinear.
vec4 nearnesses(vec2 box, vec2 span, float k) {
  vec4 middles = box.x + box.y * vec4(0.5, 1.5, 2.5, 3.5);
#ifdef REACHES_OVER
  middles = clamp(middles, span.x + 0.5, span.y + 0.5);
#endif
  return max(vec4(0.0), 1.0 - abs(middles - (k + 0.5)));
}

float nearness(vec2 box, vec2 span, float k) { return nearnesses(box, span, k).x; }
