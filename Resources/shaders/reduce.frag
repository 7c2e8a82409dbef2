#version 300 es
// Reduces one signal along one axis into the bits of 32-bit floats, for reductions that take too many taps in one
// pass.
precision highp float;
precision highp int;

#include "taps.glsl"
#include "signals.glsl"

layout(location = 0) out uvec4 sumBits;

void main() {
  ivec2 position = ivec2(gl_FragCoord.xy);
#if defined(READS_LUMA)
  vec3 sum = sampleLuma(position);
#elif defined(READS_CHROMA)
  vec3 sum = sampleChroma(position).gbr;
#else
  vec3 sum = sampleRGB(position);
#endif
  sumBits = uvec4(floatBitsToUint(sum), 0u);
}
