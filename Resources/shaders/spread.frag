#version 300 es
// Enlarges the samples of a blurred picture along the columns by quadratic B-splines: one row of samples per row of
// the layer, as the bits of floats.
precision highp float;
precision highp int;
#include "place.glsl"

#include "pixels.glsl"
#include "bell.glsl"

uniform float samplesPerRow;  // samples per row of the layer

layout(location = 0) out uvec4 color;

void main() {
  ivec2 place = drawnPlace();
  float position = (float(place.y) + 0.5) * samplesPerRow;
  int middle = int(floor(position));
  vec4 weights = bell(position - (vec4(-1.0, 0.0, 1.0, 2.0) + float(middle) + 0.5));
  vec3 sum = weights.x * colorOf(pixelAt(ivec2(place.x, middle - 1)));
  sum += weights.y * colorOf(pixelAt(ivec2(place.x, middle)));
  sum += weights.z * colorOf(pixelAt(ivec2(place.x, middle + 1)));
  color = uvec4(floatBitsToUint(sum), 0u);
}
