// Converts four neighbouring outputs and writes them.
#include "output.glsl"

uniform vec4 firstOutput;   // the row of the conversion, then its offset
uniform vec4 secondOutput;
uniform vec4 thirdOutput;
uniform vec3 background;    // in the codes of the outputs
uniform int barCount;       // 1 if the picture does not cover all outputs, otherwise 0

vec4 converted(vec4 outputRow, float behind, vec4 first, vec4 second, vec4 third, vec4 coverage) {
  vec4 codes = outputRow.x * first + outputRow.y * second + outputRow.z * third + outputRow.w;
  codes = mix(vec4(behind), codes, coverage);
  // Means that end in a half are common, and weights may be inexact. The slack is far below other
  // differences.
  return floor(clamp(codes, 0.0, 255.0) + (0.5 + 1.0 / 2048.0));
}

void convert(ivec2 place, vec4 first, vec4 second, vec4 third, vec4 coverage) {
#ifdef WRITES_PIXELS
  uvec4 red = uvec4(converted(firstOutput, background.r, first, second, third, coverage));
  uvec4 green = uvec4(converted(secondOutput, background.g, first, second, third, coverage));
  uvec4 blue = uvec4(converted(thirdOutput, background.b, first, second, third, coverage));
  writePixels(place, red | green << 8u | blue << 16u | 0xff000000u);
#else
  writePlane(place, converted(firstOutput, background.r, first, second, third, coverage) / 255.0);
#ifdef WRITES_TWO_PLANES
  writeSecondPlane(place, converted(secondOutput, background.g, first, second, third, coverage) / 255.0);
#endif
#endif
}
