// Adds up weighted rows of a stored plane: eight neighbouring bytes of any component at a time, or every other of
// sixteen bytes; or twice as many (TAKES_SIXTEEN), which pays off in software, where nothing else hides the cost of taps.
// The sums are halves of words, in the order of the bytes.
//
// A record of the table of rows: a run with one weight, then single rows, two per texel.
#ifdef HAS_ALPHA
uniform vec3 behind;               // in the order of the bytes
#endif

// The sums of the even and of the odd samples among eight.
struct EightSums { vec4 even; vec4 odd; };

EightSums firstEight;
#ifdef TAKES_SIXTEEN
EightSums secondEight;

// The first of a column's two texels of eight samples.
#define FIRST_OF(COLUMN) ((COLUMN) * 2)
#else
#define FIRST_OF(COLUMN) (COLUMN)
#endif

void add(inout EightSums sums, vec4 even, vec4 odd, float weight) {
#ifdef HAS_ALPHA
  vec2 alpha = odd.yw / 255.0;
  even = mix(behind.xzxz, even, alpha.xxyy);
  odd.xz = mix(behind.yy, odd.xz, alpha);
#endif
  sums.even += weight * even;
  sums.odd += weight * odd;
}

void addWords(inout EightSums sums, uvec2 words, float weight) {
  add(
    sums, vec4(words.x & 255u, words.x >> 16u & 255u, words.y & 255u, words.y >> 16u & 255u),
    vec4(words.x >> 8u & 255u, words.x >> 24u, words.y >> 8u & 255u, words.y >> 24u), weight);
}

#ifdef TAKES_HALVES
// Two samples per word. `shift` is 0 for every other byte from the first, 8 from the second.
uvec4 halves(highp STORE plane, ivec4 store, int x, int row, int shift) {
  return fourWords(plane, store, x, row) >> shift & 0x00ff00ffu;
}
#endif

void addRow(highp STORE plane, ivec4 store, int column, int row, int shift, float weight) {
#ifdef IS_WIDE
  uvec4 words = fourWords(plane, store, FIRST_OF(column), row);
  add(firstEight, vec4(words & 65535u) / 257.0, vec4(words >> 16u) / 257.0, weight);
#ifdef TAKES_SIXTEEN
  words = fourWords(plane, store, FIRST_OF(column) + 1, row);
  add(secondEight, vec4(words & 65535u) / 257.0, vec4(words >> 16u) / 257.0, weight);
#endif
#elif defined(TAKES_HALVES)
  uvec4 words = halves(plane, store, FIRST_OF(column), row, shift);
  add(firstEight, vec4(words & 255u), vec4(words >> 16u), weight);
#ifdef TAKES_SIXTEEN
  words = halves(plane, store, FIRST_OF(column) + 1, row, shift);
  add(secondEight, vec4(words & 255u), vec4(words >> 16u), weight);
#endif
#elif defined(TAKES_SIXTEEN)
  uvec4 words = fourWords(plane, store, column, row);
  addWords(firstEight, words.xy, weight);
  addWords(secondEight, words.zw, weight);
#else
  addWords(firstEight, twoWords(plane, store, column, row), weight);
#endif
}

// Adds rows that have one weight, with sixteen bits for each sample of up to 256 rows, and weighs the sums.
void addRun(highp STORE plane, ivec4 store, int column, int row, int count, int shift, float weight) {
#if defined(IS_WIDE) || defined(HAS_ALPHA)
  for (int index = 0; index < count; ++index) addRow(plane, store, column, row + index, shift, weight);
#else
  for (int end = row + count; row < end;) {
    int pause = min(row + 256, end);
    uvec4 a = uvec4(0u);
    uvec4 b = uvec4(0u);
#ifdef TAKES_HALVES
    do {
      a += halves(plane, store, FIRST_OF(column), row, shift);
#ifdef TAKES_SIXTEEN
      b += halves(plane, store, FIRST_OF(column) + 1, row, shift);
#endif
    } while (++row < pause);
    add(firstEight, vec4(a & 65535u), vec4(a >> 16u), weight);
#ifdef TAKES_SIXTEEN
    add(secondEight, vec4(b & 65535u), vec4(b >> 16u), weight);
#endif
#else
    do {
#ifdef TAKES_SIXTEEN
      uvec4 words = fourWords(plane, store, column, row);
#else
      uvec4 words = uvec4(twoWords(plane, store, column, row), 0u, 0u);
#endif
      a += words & 0x00ff00ffu;
      b += words >> 8u & 0x00ff00ffu;
    } while (++row < pause);
    uvec4 evenLow = a & 65535u, evenHigh = a >> 16u, oddLow = b & 65535u, oddHigh = b >> 16u;
    add(
      firstEight, vec4(evenLow.x, evenHigh.x, evenLow.y, evenHigh.y), vec4(oddLow.x, oddHigh.x, oddLow.y, oddHigh.y),
      weight);
#ifdef TAKES_SIXTEEN
    add(
      secondEight, vec4(evenLow.z, evenHigh.z, evenLow.w, evenHigh.w),
      vec4(oddLow.z, oddHigh.z, oddLow.w, oddHigh.w), weight);
#endif
#endif
  }
#endif
}

uvec4 rounded(EightSums sums, vec2 stored) {
  uvec4 low = uvec4(sums.even * stored.x + stored.y);
  uvec4 high = uvec4(sums.odd * stored.x + stored.y);
  return low | high << 16u;
}

// Leaves the sums of a column for a row of outputs in firstEight and secondEight.
void addUp(
  highp STORE plane, ivec4 store, highp TABLE rows, int row, int pairCount, int column, int shift) {
  firstEight = EightSums(vec4(0.0), vec4(0.0));
#ifdef TAKES_SIXTEEN
  secondEight = EightSums(vec4(0.0), vec4(0.0));
#endif
  int record = row * (1 + pairCount);
  uvec4 run = tableTexel(rows, record);
  addRun(plane, store, column, int(run.x), int(run.y), shift, uintBitsToFloat(run.z));
  // Two taps at a time, because fetching taps costs as much as fetching samples. The test is at the end: with
  // a test at the start, llvmpipe takes a tenth longer.
  int index = 0;
  do {
    vec4 taps = tapsAt(rows, record + 1 + index);
    addRow(plane, store, column, int(taps.x), shift, taps.y);
    addRow(plane, store, column, int(taps.z), shift, taps.w);
  } while (++index < pairCount);
}
