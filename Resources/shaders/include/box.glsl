// Boxes four at a time. A row of a plane is read as texels of four bytes: four samples of one component, or two or one
// of each of several. TEXELS texels hold the boxes of four neighbouring outputs.

// Defines two functions. ADD_ROWS adds up texels down the columns with the rows' weights. SPREAD gives the sum of each of
// the four boxes: `firstByte` picks the component, `box` is where the first box begins, in samples from the first
// texel's, and how wide each is; `span` the first and last sample that belong to the crop, counted alike. What a box
// covers beyond the span counts for the sample at its end.
#define DEFINE_BOXES(ADD_ROWS, SPREAD, TEXELS, SAMPLES) \
  void ADD_ROWS( \
    highp usampler2D plane, highp sampler2D rows, int rowTaps, int y, int firstTexel, int lastTexel, \
    out vec4 sums[TEXELS]) { \
    for (int i = 0; i < TEXELS; ++i) sums[i] = vec4(0.0); \
    for (int j = 0; j < rowTaps; ++j) { \
      vec2 row = tableEntry(rows, y * rowTaps + j); \
      int place = int(row.x); \
      for (int i = 0; i < TEXELS; ++i) \
        sums[i] += row.y * vec4(texelFetch(plane, ivec2(min(firstTexel + i, lastTexel), place), 0)); \
    } \
  } \
  vec4 SPREAD(vec4 sums[TEXELS], vec4 firstByte, vec2 box, vec2 span) { \
    vec4 starts = box.x + box.y * vec4(0.0, 1.0, 2.0, 3.0); \
    vec4 ends = starts + box.y; \
    vec4 total = vec4(0.0); \
    for (int i = 0; i < TEXELS; ++i) { \
      for (int c = 0; c < SAMPLES; ++c) { \
        float value = SAMPLES == 4 ? sums[i][c] : dot(sums[i], c == 0 ? firstByte : firstByte.zwxy); \
        float sampleStart = float(i * SAMPLES + c); \
        float from = sampleStart > span.y ? far : sampleStart <= span.x ? -far : sampleStart; \
        float to = sampleStart < span.x ? -far : sampleStart >= span.y ? far : sampleStart + 1.0; \
        total += value * max(vec4(0.0), min(ends, vec4(to)) - max(starts, vec4(from))); \
      } \
    } \
    return total / box.y; \
  }

const float far = 1.0e6;
