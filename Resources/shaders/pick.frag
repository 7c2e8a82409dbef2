#version 300 es
// Picks one sample for each output, four neighbours at a time: the nearest, or the only one where a picture is copied.
precision highp float;
precision highp int;

#include "taps.glsl"

#include "store.glsl"

uniform int lastOutput;     // the last column
uniform vec4 firstOutput;   // the row of the conversion, then its offset
uniform vec4 secondOutput;
uniform vec4 thirdOutput;
uniform vec3 background;    // in the codes of the outputs
uniform int barCount;       // 1 if the picture does not cover all outputs, otherwise 0
uniform highp TABLE coverageRows;
uniform highp TABLE coverageColumns;
uniform ivec2 firstCoverage; // of the tables' texels: columns, rows

#ifdef READS_LUMA
uniform highp STORE lumaPlane;
uniform ivec4 lumaStore;
uniform int lumaFirst;      // the first sample's byte
uniform int lumaStep;       // bytes from one sample to the next
uniform highp TABLE lumaColumns;
uniform highp TABLE lumaRows;
#endif
#ifdef READS_CHROMA
uniform highp STORE cbPlane;
uniform highp STORE crPlane;
uniform ivec4 cbStore;
uniform ivec4 crStore;
uniform ivec2 chromaFirst;  // the first bytes of Cb and Cr
uniform int chromaStep;
uniform highp TABLE chromaColumns;
uniform highp TABLE chromaRows;
#endif
#ifdef READS_RGB
uniform highp STORE rgbPlane;
uniform ivec4 rgbStore;
uniform ivec3 rgbFirst;     // the first bytes of R, G and B
uniform int rgbStep;
uniform highp TABLE rgbColumns;
uniform highp TABLE rgbRows;
#ifdef HAS_ALPHA
uniform vec3 behind;
#endif
#endif

#ifdef WRITES_PIXELS
layout(location = 0) out uvec4 pixels;
#else
layout(location = 0) out vec4 plane;
#ifdef WRITES_TWO_PLANES
layout(location = 1) out vec4 secondPlane;
#endif
#endif

vec4 first = vec4(128.0);
vec4 second = vec4(128.0);
vec4 third = vec4(128.0);

// The byte positions of four outputs' samples.
ivec4 positions(highp TABLE columns, int x, int step) {
  vec4 samples;
  for (int index = 0; index < 4; ++index) samples[index] = tapsAt(columns, min(x + index, lastOutput)).x;
  return ivec4(samples) * step;
}

vec4 converted(vec4 outputRow, float behindAll, vec4 coverage) {
  vec4 codes = outputRow.x * first + outputRow.y * second + outputRow.z * third + outputRow.w;
  codes = mix(vec4(behindAll), codes, coverage);
  return floor(clamp(codes, 0.0, 255.0) + (0.5 + 1.0 / 2048.0));
}

void main() {
  ivec2 place = ivec2(gl_FragCoord.xy);
  int x = place.x * 4;
#ifdef READS_LUMA
  {
    int row = int(tapsAt(lumaRows, place.y).x);
    first = codesAt(lumaPlane, lumaStore, positions(lumaColumns, x, lumaStep) + lumaFirst, row);
  }
#endif
#ifdef READS_CHROMA
  {
    int row = int(tapsAt(chromaRows, place.y).x);
    ivec4 bytes = positions(chromaColumns, x, chromaStep);
    second = codesAt(cbPlane, cbStore, bytes + chromaFirst.x, row);
    third = codesAt(crPlane, crStore, bytes + chromaFirst.y, row);
  }
#endif
#ifdef READS_RGB
  {
    int row = int(tapsAt(rgbRows, place.y).x);
    ivec4 bytes = positions(rgbColumns, x, rgbStep);
    first = codesAt(rgbPlane, rgbStore, bytes + rgbFirst.x, row);
    second = codesAt(rgbPlane, rgbStore, bytes + rgbFirst.y, row);
    third = codesAt(rgbPlane, rgbStore, bytes + rgbFirst.z, row);
#ifdef HAS_ALPHA
#ifdef IS_WIDE
    vec4 alpha = codesAt(rgbPlane, rgbStore, bytes + 6, row) / 255.0;
#else
    vec4 alpha = codesAt(rgbPlane, rgbStore, bytes + 3, row) / 255.0;
#endif
    first = mix(vec4(behind.x), first, alpha);
    second = mix(vec4(behind.y), second, alpha);
    third = mix(vec4(behind.z), third, alpha);
#endif
  }
#endif
  vec4 coverage = vec4(1.0);
  // A loop, because it costs nothing where it is not entered.
  for (int index = 0; index < barCount; ++index) {
    for (int column = 0; column < 4; ++column) {
      coverage[column] = tapsAt(coverageColumns, firstCoverage.x + min(x + column, lastOutput)).x;
    }
    coverage *= tapsAt(coverageRows, firstCoverage.y + place.y).x;
  }
#ifdef WRITES_PIXELS
  uvec4 red = uvec4(converted(firstOutput, background.r, coverage));
  uvec4 green = uvec4(converted(secondOutput, background.g, coverage));
  uvec4 blue = uvec4(converted(thirdOutput, background.b, coverage));
  pixels = red | green << 8u | blue << 16u | 0xff000000u;
#else
  plane = converted(firstOutput, background.r, coverage) / 255.0;
#ifdef WRITES_TWO_PLANES
  secondPlane = converted(secondOutput, background.g, coverage) / 255.0;
#endif
#endif
}
