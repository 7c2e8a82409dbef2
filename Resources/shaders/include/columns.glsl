// Weighs columns of the sums of rows, for four neighbouring outputs at a time, converts and writes them.
//
// A texel of sums holds eight samples of a row of bytes, two a word. A record of weights is described by ColumnWeights.
// Who includes this has declared where the sums of each signal are, as SUMS or LIGHT_SUMS, which sumsAt and lightSumsAt
// read, with what these need besides, the signal's fold.
uniform highp TABLE coverageRows;
uniform int firstCoverage;  // the first texel in the table

// The weights of four outputs in a texel, for the even and for the odd sample.
vec4 evenWeights(uvec4 words) { return vec4(ivec4(words << 16u) >> 16); }
vec4 oddWeights(uvec4 words) { return vec4(ivec4(words) >> 16); }

// The weighted sums of up to four components, each of four outputs.
struct Sums { vec4 first; vec4 second; vec4 third; };

// Windows of samples, at least one. The test is at the end: with a test at the start, llvmpipe takes a
// quarter longer.
#define BEGIN_WINDOWS \
  int texel = int(tableTexel(table, record).x); \
  int weight = record + 1; \
  int index = 0; \
  do {
#define END_WINDOWS(TEXELS, WEIGHTS) \
    texel += TEXELS; \
    weight += WEIGHTS; \
  } while (++index < windows);

// One component: eight samples a texel.
vec4 sumOfOne(SUMS rows, highp TABLE table, int record, int windows, ivec2 fold, int row) {
  vec4 sum = vec4(0.0);
  BEGIN_WINDOWS
    uvec4 words = sumsAt(rows, texel, row, fold);
    vec4 even = vec4(words & 65535u);
    vec4 odd = vec4(words >> 16u);
    for (int pair = 0; pair < 4; ++pair) {
      uvec4 weights = tableTexel(table, weight + pair);
      sum += even[pair] * evenWeights(weights) + odd[pair] * oddWeights(weights);
    }
  END_WINDOWS(1, 4)
  return sum;
}

// Two components in turn: four samples a texel.
Sums sumOfTwo(SUMS rows, highp TABLE table, int record, int windows, ivec2 fold, int row) {
  Sums sums = Sums(vec4(0.0), vec4(0.0), vec4(0.0));
  BEGIN_WINDOWS
    uvec4 words = sumsAt(rows, texel, row, fold);
    vec4 even = vec4(words & 65535u);
    vec4 odd = vec4(words >> 16u);
    for (int pair = 0; pair < 2; ++pair) {
      uvec4 weights = tableTexel(table, weight + pair);
      vec4 first = evenWeights(weights);
      vec4 second = oddWeights(weights);
      sums.first += even[pair * 2] * first + even[pair * 2 + 1] * second;
      sums.second += odd[pair * 2] * first + odd[pair * 2 + 1] * second;
    }
  END_WINDOWS(1, 2)
  return sums;
}

// Three of four components in turn: two samples a texel.
Sums sumOfFour(SUMS rows, highp TABLE table, int record, int windows, ivec2 fold, int row) {
  Sums sums = Sums(vec4(0.0), vec4(0.0), vec4(0.0));
  BEGIN_WINDOWS
    uvec4 words = sumsAt(rows, texel, row, fold);
    vec4 even = vec4(words & 65535u);
    vec4 odd = vec4(words >> 16u);
    uvec4 weights = tableTexel(table, weight);
    vec4 near = evenWeights(weights);
    vec4 far = oddWeights(weights);
    sums.first += near * even.x + far * even.z;
    sums.second += near * odd.x + far * odd.z;
    sums.third += near * even.y + far * even.w;
  END_WINDOWS(1, 1)
  return sums;
}

// Three components in turn: eight samples in three texels.
Sums sumOfThree(SUMS rows, highp TABLE table, int record, int windows, ivec2 fold, int row) {
  Sums sums = Sums(vec4(0.0), vec4(0.0), vec4(0.0));
  BEGIN_WINDOWS
    uvec4 a = sumsAt(rows, texel, row, fold);
    uvec4 b = sumsAt(rows, texel + 1, row, fold);
    uvec4 c = sumsAt(rows, texel + 2, row, fold);
    vec4 a0 = vec4(a & 65535u), a1 = vec4(a >> 16u);
    vec4 b0 = vec4(b & 65535u), b1 = vec4(b >> 16u);
    vec4 c0 = vec4(c & 65535u), c1 = vec4(c >> 16u);
    uvec4 weights = tableTexel(table, weight);
    vec4 near = evenWeights(weights), far = oddWeights(weights);
    sums.first += near * a0.x + far * a1.y;
    sums.second += near * a1.x + far * a0.z;
    sums.third += near * a0.y + far * a1.z;
    weights = tableTexel(table, weight + 1);
    near = evenWeights(weights), far = oddWeights(weights);
    sums.first += near * a0.w + far * b1.x;
    sums.second += near * a1.w + far * b0.y;
    sums.third += near * b0.x + far * b1.y;
    weights = tableTexel(table, weight + 2);
    near = evenWeights(weights), far = oddWeights(weights);
    sums.first += near * b0.z + far * b1.w;
    sums.second += near * b1.z + far * c0.x;
    sums.third += near * b0.w + far * c1.x;
    weights = tableTexel(table, weight + 3);
    near = evenWeights(weights), far = oddWeights(weights);
    sums.first += near * c0.y + far * c1.z;
    sums.second += near * c1.y + far * c0.w;
    sums.third += near * c0.z + far * c1.w;
  END_WINDOWS(3, 4)
  return sums;
}

// Light: four samples a texel, as the bits of floats.
vec4 sumOfLight(LIGHT_SUMS rows, highp TABLE table, int record, int windows, ivec2 fold, int row) {
  vec4 sum = vec4(0.0);
  BEGIN_WINDOWS
    vec4 light = uintBitsToFloat(lightSumsAt(rows, texel, row, fold));
    uvec4 weights = tableTexel(table, weight);
    sum += light.x * evenWeights(weights) + light.y * oddWeights(weights);
    weights = tableTexel(table, weight + 1);
    sum += light.z * evenWeights(weights) + light.w * oddWeights(weights);
  END_WINDOWS(1, 2)
  return sum;
}

#ifdef SUMS_LIGHT
uniform highp TABLE rgbColumns;
uniform ivec2 rgbRecords;
uniform vec2 rgbScale;
#endif
#ifdef READS_LUMA
uniform highp TABLE lumaColumns;
uniform ivec2 lumaRecords;  // texels a record, windows
uniform vec2 lumaScale;     // from sums to codes: factor, offset
#endif
#ifdef READS_CHROMA
uniform highp TABLE chromaColumns;
uniform ivec2 chromaRecords;
uniform vec2 chromaScale;
#endif
#ifdef RGB_BYTES
uniform highp TABLE rgbColumns;
uniform ivec2 rgbRecords;
uniform vec2 rgbScale;
#endif

vec4 first = vec4(128.0);
vec4 second = vec4(128.0);
vec4 third = vec4(128.0);
uvec4 header;

// Writes the outputs at a place, from a row of sums.
void weigh(ivec2 place, int row) {
#ifdef READS_LUMA
  {
    int record = place.x * lumaRecords.x;
    header = tableTexel(lumaColumns, record);
    first = sumOfOne(lumaRows, lumaColumns, record, lumaRecords.y, lumaFold, row);
    first = first * lumaScale.x + lumaScale.y;
  }
#endif
#ifdef READS_CHROMA
  {
    int record = place.x * chromaRecords.x;
#ifndef READS_LUMA
    header = tableTexel(chromaColumns, record);
#endif
#ifdef CHROMA_IS_APART
    second = sumOfOne(cbRows, chromaColumns, record, chromaRecords.y, chromaFold, row);
    third = sumOfOne(crRows, chromaColumns, record, chromaRecords.y, chromaFold, row);
#else
    Sums sums = sumOfTwo(cbRows, chromaColumns, record, chromaRecords.y, chromaFold, row);
    second = sums.first;
    third = sums.second;
#endif
    second = second * chromaScale.x + chromaScale.y;
    third = third * chromaScale.x + chromaScale.y;
  }
#endif
#ifdef RGB_BYTES
  {
    int record = place.x * rgbRecords.x;
    header = tableTexel(rgbColumns, record);
#if RGB_BYTES == 3
    Sums sums = sumOfThree(rgbRows, rgbColumns, record, rgbRecords.y, rgbFold, row);
#else
    Sums sums = sumOfFour(rgbRows, rgbColumns, record, rgbRecords.y, rgbFold, row);
#endif
    first = sums.first * rgbScale.x + rgbScale.y;
    second = sums.second * rgbScale.x + rgbScale.y;
    third = sums.third * rgbScale.x + rgbScale.y;
  }
#endif
#ifdef SUMS_LIGHT
  {
    int record = place.x * rgbRecords.x;
    header = tableTexel(rgbColumns, record);
    first = codesFromLight(clamp(sumOfLight(redRows, rgbColumns, record, rgbRecords.y, rgbFold, row) * rgbScale.x, 0.0, 255.0));
    second = codesFromLight(clamp(sumOfLight(greenRows, rgbColumns, record, rgbRecords.y, rgbFold, row) * rgbScale.x, 0.0, 255.0));
    third = codesFromLight(clamp(sumOfLight(blueRows, rgbColumns, record, rgbRecords.y, rgbFold, row) * rgbScale.x, 0.0, 255.0));
  }
#endif
  vec4 coverage = vec4(1.0);
  // A loop, because it costs nothing if it is not entered.
  for (int index = 0; index < barCount; ++index) {
    vec4 columns = vec4(header.y & 65535u, header.y >> 16u, header.z & 65535u, header.z >> 16u) / 32768.0;
    coverage = columns * tapsAt(coverageRows, firstCoverage + place.y).x;
  }
  convert(place, first, second, third, coverage);
}
