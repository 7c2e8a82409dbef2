// Sums of bytes in halves of words. A texel is sixteen bytes of a row. Even and odd bytes are summed
// separately, so that each sum has sixteen bits: enough for weights that add up to 257. TEXELS texels of ROWS
// rows contain the boxes of a group of outputs, which reads SAMPLES samples. Macros define the functions.
//
// If the frame is a buffer, software renderers read these texels at half the cost of a texture.

#ifdef REACHES_OVER
#define COLUMN(X, COUNT) clamp(X, 0, COUNT - 1)
#else
#define COLUMN(X, COUNT) (X)
#endif

const uint evenBytes = 0x00ff00ffu;

// BODY(0), BODY(1), ... below COUNT, which is at most 17. Not a loop: compilers do not unroll large ones, and only
// unrolled code stays out of memory.
#define EACH(COUNT, BODY) \
  BODY(0) \
  if (COUNT > 1) BODY(1) \
  if (COUNT > 2) BODY(2) \
  if (COUNT > 3) BODY(3) \
  if (COUNT > 4) BODY(4) \
  if (COUNT > 5) BODY(5) \
  if (COUNT > 6) BODY(6) \
  if (COUNT > 7) BODY(7) \
  if (COUNT > 8) BODY(8) \
  if (COUNT > 9) BODY(9) \
  if (COUNT > 10) BODY(10) \
  if (COUNT > 11) BODY(11) \
  if (COUNT > 12) BODY(12) \
  if (COUNT > 13) BODY(13) \
  if (COUNT > 14) BODY(14) \
  if (COUNT > 15) BODY(15) \
  if (COUNT > 16) BODY(16)

// Adds up the rows of a box that has HEIGHT parts, UNIT per row.
#define ADD_ROW(J) { \
    int y = clamp(row + (J), rows.z, rows.w); \
    int from = max(top, (row + (J)) * unit); \
    int to = min(top + height, (row + (J) + 1) * unit); \
    uint weight = unit == 1 ? 1u : uint(max(to - from, 0)); \
    for (int i = 0; i < texels; ++i) { \
      uvec4 fetched = texelFetch(words, store.x + y * store.y + COLUMN(texel + i, store.y)); \
      evenSums[i] += weight * (fetched & evenBytes); \
      oddSums[i] += weight * ((fetched >> 8) & evenBytes); \
    } \
  }

#define TAKE_APART(I) \
  for (int n = 0; n < 4; ++n) { \
    even[I * 4 + n] = evenSums[I][n]; \
    odd[I * 4 + n] = oddSums[I][n]; \
  }

#define DEFINE_SUM(NAME, TEXELS, ROWS, UNIT, HEIGHT) \
  void NAME( \
    highp usamplerBuffer words, ivec2 store, int texel, ivec4 rows, int place, out uint even[TEXELS * 4 + 2], \
    out uint odd[TEXELS * 4 + 2]) { \
    const int texels = TEXELS, unit = UNIT, height = HEIGHT; \
    uvec4 evenSums[17]; \
    uvec4 oddSums[17]; \
    for (int i = 0; i < TEXELS; ++i) evenSums[i] = oddSums[i] = uvec4(0u); \
    int top = rows.x + place * rows.y; \
    /* Rounded down, below 0 too; no float holds all these numbers. */ \
    int row = (top + unit * 65536) / unit - 65536; \
    EACH(min(ROWS, 17), ADD_ROW) \
    for (int j = 17; j < ROWS; ++j) ADD_ROW(j) \
    EACH(TEXELS, TAKE_APART) \
    even[TEXELS * 4] = even[TEXELS * 4 + 1] = odd[TEXELS * 4] = odd[TEXELS * 4 + 1] = 0u; \
  }

// Shifts the sums so that the group's first byte comes first; SHIFTS has the bits in which groups differ.
#define SHIFT_BY_8(I) \
  for (int k = I * 4; k < I * 4 + 4; ++k) { \
    even[k] = (byte & 8) != 0 ? even[min(k + 2, last)] : even[k]; \
    odd[k] = (byte & 8) != 0 ? odd[min(k + 2, last)] : odd[k]; \
  }
#define SHIFT_BY_4(I) \
  for (int k = I * 4; k < I * 4 + 4; ++k) { \
    even[k] = (byte & 4) != 0 ? even[k + 1] : even[k]; \
    odd[k] = (byte & 4) != 0 ? odd[k + 1] : odd[k]; \
  }
#define SHIFT_BY_2(I) \
  for (int k = I * 4; k < I * 4 + 4; ++k) { \
    even[k] = (byte & 2) != 0 ? even[k] >> 16 | even[k + 1] << 16 : even[k]; \
    odd[k] = (byte & 2) != 0 ? odd[k] >> 16 | odd[k + 1] << 16 : odd[k]; \
  }
#define SHIFT_BY_1(I) \
  for (int k = I * 4; k < I * 4 + 4; ++k) { \
    uint next = even[k] >> 16 | even[k + 1] << 16; \
    even[k] = (byte & 1) != 0 ? odd[k] : even[k]; \
    odd[k] = (byte & 1) != 0 ? next : odd[k]; \
  }

#define DEFINE_ALIGN(NAME, TEXELS, SHIFTS) \
  void NAME(int byte, inout uint even[TEXELS * 4 + 2], inout uint odd[TEXELS * 4 + 2]) { \
    const int last = TEXELS * 4 + 1; \
    if ((SHIFTS & 8) != 0) { EACH(TEXELS, SHIFT_BY_8) } \
    if ((SHIFTS & 4) != 0) { EACH(TEXELS, SHIFT_BY_4) } \
    if ((SHIFTS & 2) != 0) { EACH(TEXELS, SHIFT_BY_2) } \
    if ((SHIFTS & 1) != 0) { EACH(TEXELS, SHIFT_BY_1) } \
  }

// Replaces samples beyond the crop by the sample at that end.
#define HOLD_LAST(I) \
  for (int k = max(I * 16, 1); k < min(I * 16 + 16, samples); ++k) codes[k] = k > span.y ? codes[k - 1] : codes[k];
#define HOLD_FIRST(I) \
  for (int k = samples - 2 - I * 16; k > max(samples - 18 - I * 16, -1); --k) \
    codes[k] = k < span.x ? codes[k + 1] : codes[k];
#ifdef REACHES_OVER
#define HOLD_ENDS(SAMPLES) EACH((SAMPLES + 15) / 16, HOLD_LAST) EACH((SAMPLES + 15) / 16, HOLD_FIRST)
#else
#define HOLD_ENDS(SAMPLES)
#endif

#ifdef REVERSES_COLUMNS
#define PLACE(OUTPUT) (QUADS * 4 - 1 - (OUTPUT))
#else
#define PLACE(OUTPUT) (OUTPUT)
#endif

#define QUAD(BOX, OUTPUT) \
  vec4(BOX(codes, PLACE(OUTPUT)), BOX(codes, PLACE(OUTPUT + 1)), BOX(codes, PLACE(OUTPUT + 2)), BOX(codes, PLACE(OUTPUT + 3)))

// Not a loop: compilers unroll it only if its inner loops have known bounds.
#ifdef WRITES_PIXELS
#define QUADS 2
#define ALL_QUADS(BOX) \
  means[0] = QUAD(BOX, 0); \
  means[1] = QUAD(BOX, 4);
#else
#define QUADS 4
#define ALL_QUADS(BOX) \
  means[0] = QUAD(BOX, 0); \
  means[1] = QUAD(BOX, 4); \
  means[2] = QUAD(BOX, 8); \
  means[3] = QUAD(BOX, 12);
#endif

// The means of the group's boxes. START and WIDTH are sixteenths of a sample; STEP is bytes from one sample to the
// next.
#define UNPACK(I) \
  for (int k = I * 16; k < min(I * 16 + 16, samples); ++k) { \
    int byte = k * stride + firstByte; \
    uint word = (byte & 1) == 0 ? even[byte >> 2] : odd[byte >> 2]; \
    codes[k] = float(int((byte & 2) == 0 ? word & 0xffffu : word >> 16)); \
  }

#define DEFINE_MEANS(NAME, BOX, TEXELS, SAMPLES, STEP, FIRST_BYTE, START, WIDTH, HEIGHT) \
  float BOX(float codes[SAMPLES], int place) { \
    int start = START + place * WIDTH; \
    int end = start + WIDTH; \
    float sum = 0.0; \
    for (int j = 0; j < (WIDTH + 30) / 16; ++j) { \
      int k = (start >> 4) + j; \
      sum += codes[min(k, SAMPLES - 1)] * float(max(min(end, k * 16 + 16) - max(start, k * 16), 0)); \
    } \
    return sum * (1.0 / float(WIDTH * HEIGHT)); \
  } \
  void NAME(uint even[TEXELS * 4 + 2], uint odd[TEXELS * 4 + 2], ivec2 span, out vec4 means[QUADS]) { \
    float codes[SAMPLES]; \
    const int samples = SAMPLES, stride = STEP, firstByte = FIRST_BYTE; \
    EACH((SAMPLES + 15) / 16, UNPACK) \
    HOLD_ENDS(SAMPLES) \
    ALL_QUADS(BOX) \
  }

// Four rounded codes in a word. Means that end in a half are common, and weights are inexact. The slack is far below
// any other mean.
vec4 rounded(vec4 codes) { return floor(clamp(codes, 0.0, 255.0) + (0.5 + 1.0 / 2048.0)); }

uint bytes(vec4 codes) {
  codes = rounded(codes);
  return uint(int(codes.x + codes.y * 256.0 + codes.z * 65536.0)) | uint(int(codes.w)) << 24;
}

uvec4 pixels(vec4 red, vec4 green, vec4 blue) {
  return uvec4(ivec4(rounded(red) + rounded(green) * 256.0 + rounded(blue) * 65536.0)) | 0xff000000u;
}
