// Adds up weighted rows of the light of four neighbouring pixels at a time: of red, green and blue, times 255.
uniform int firstSample;
uniform highp TABLE planeRows;      // the taps of each output row
uniform int tapCount;

#ifdef READS_RGB
uniform highp STORE rgbPlane;
uniform ivec4 rgbStore;
uniform int rgbStep;                // bytes from one pixel to the next
uniform ivec3 rgbFirst;             // the first bytes of R, G and B
#ifdef HAS_ALPHA
uniform vec3 behind;
#endif
#else
uniform highp STORE lumaPlane;
uniform ivec4 lumaStore;
uniform int lumaStep;
uniform int lumaFirst;
uniform vec4 redRow;                // the rows of the matrix to R'G'B', then their offsets
uniform vec4 greenRow;
uniform vec4 blueRow;
#ifdef HAS_CHROMA
uniform highp STORE cbPlane;
uniform highp STORE crPlane;
uniform ivec4 cbStore;
uniform ivec4 crStore;
uniform int chromaStep;
uniform ivec2 chromaFirst;          // the first bytes of Cb and Cr
uniform vec2 chromaScale;           // chroma samples per pixel
uniform vec2 chromaSiting;          // added to a pixel's position times the scale
uniform ivec4 chromaSpan;           // first column and row, last column and row of the crop
#endif
#endif

vec4 lightSums[3];

#if defined(READS_RGB) && !defined(IS_WIDE)
// Four pixels from a multiple of four on. A pixel's bytes are a word, of which three bytes count if that many are stored.
uvec4 pixelsAt(int x, int row) {
#if READS_RGB == 3
  int word = x / 4 * 3;
  uvec2 near = twoWords(rgbPlane, rgbStore, word >> 1, row);
  uvec2 far = twoWords(rgbPlane, rgbStore, (word >> 1) + 1, row);
  uvec3 words = (word & 1) == 0 ? uvec3(near, far.x) : uvec3(near.y, far);
  return uvec4(words.x, words.x >> 24u | words.y << 8u, words.y >> 16u | words.z << 16u, words.z >> 8u);
#else
  return uvec4(twoWords(rgbPlane, rgbStore, x >> 1, row), twoWords(rgbPlane, rgbStore, (x >> 1) + 1, row));
#endif
}
#endif

#ifdef HAS_CHROMA
// The chroma of four pixels, interpolated between four neighbouring samples in two rows.
vec4 chromaAt(highp STORE plane, ivec4 store, ivec4 bytes, ivec2 rows, float down, mat4 across) {
  return across * mix(codesAt(plane, store, bytes, rows.x), codesAt(plane, store, bytes, rows.y), down);
}
#endif

// Leaves the sums of four pixels' light, for a row of outputs, in lightSums. `place` counts pixels in fours.
void addUpLight(ivec2 place) {
  ivec4 samples = firstSample + place.x * 4 + ivec4(0, 1, 2, 3);
  lightSums[0] = lightSums[1] = lightSums[2] = vec4(0.0);
#ifdef HAS_CHROMA
  // Four pixels lie between four samples, or on them.
  vec4 column = (vec4(samples) + 0.5) * chromaScale.x + (chromaSiting.x - 0.5);
  float corner = floor(column.x);
  mat4 across;
  for (int index = 0; index < 4; ++index) {
    across[index] = max(1.0 - abs(column - (corner + float(index))), 0.0);
  }
  ivec4 chromaBytes = clamp(int(corner) + ivec4(0, 1, 2, 3), chromaSpan.x, chromaSpan.z) * chromaStep;
#endif
#if defined(READS_RGB) && !defined(IS_WIDE)
  uvec3 shifts = uvec3(rgbFirst) * 8u;
#endif
  int firstTaps = place.y * ((tapCount + 1) >> 1);
  int index = 0;
  do {
    vec4 taps = tapsAt(planeRows, firstTaps + (index >> 1));
    vec2 tap = (index & 1) == 0 ? taps.xy : taps.zw;
    int row = int(tap.x);
#ifdef READS_RGB
#ifdef IS_WIDE
    ivec4 bytes = samples * rgbStep;
    vec4 red = codesAt(rgbPlane, rgbStore, bytes + rgbFirst.x, row);
    vec4 green = codesAt(rgbPlane, rgbStore, bytes + rgbFirst.y, row);
    vec4 blue = codesAt(rgbPlane, rgbStore, bytes + rgbFirst.z, row);
#else
    uvec4 pixels = pixelsAt(samples.x, row);
    vec4 red = vec4(pixels >> shifts.x & 255u);
    vec4 green = vec4(pixels >> shifts.y & 255u);
    vec4 blue = vec4(pixels >> shifts.z & 255u);
#endif
#ifdef HAS_ALPHA
#ifdef IS_WIDE
    vec4 alpha = codesAt(rgbPlane, rgbStore, bytes + 6, row) / 255.0;
#else
    vec4 alpha = vec4(pixels >> 24u) / 255.0;
#endif
    red = mix(vec4(behind.r), red, alpha);
    green = mix(vec4(behind.g), green, alpha);
    blue = mix(vec4(behind.b), blue, alpha);
#endif
#else
    vec4 luma = codesAt(lumaPlane, lumaStore, samples * lumaStep + lumaFirst, row);
    vec4 cb = vec4(128.0);
    vec4 cr = vec4(128.0);
#ifdef HAS_CHROMA
    float line = (float(row) + 0.5) * chromaScale.y + (chromaSiting.y - 0.5);
    float above = floor(line);
    ivec2 rows = clamp(ivec2(int(above), int(above) + 1), chromaSpan.y, chromaSpan.w);
    cb = chromaAt(cbPlane, cbStore, chromaBytes + chromaFirst.x, rows, line - above, across);
    cr = chromaAt(crPlane, crStore, chromaBytes + chromaFirst.y, rows, line - above, across);
#endif
    vec4 red = redRow.x * luma + redRow.y * cb + redRow.z * cr + redRow.w;
    vec4 green = greenRow.x * luma + greenRow.y * cb + greenRow.z * cr + greenRow.w;
    vec4 blue = blueRow.x * luma + blueRow.y * cb + blueRow.z * cr + blueRow.w;
#endif
    lightSums[0] += tap.y * lightFromCodes(red);
    lightSums[1] += tap.y * lightFromCodes(green);
    lightSums[2] += tap.y * lightFromCodes(blue);
  } while (++index < tapCount);
}
