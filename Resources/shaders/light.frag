#version 300 es
#ifdef IS_EXTERNAL
#extension GL_OES_EGL_image_external_essl3 : require
#endif
// The first of two passes in linear light. The sums are written as the bits of floats.
precision highp float;
precision highp int;
#include "place.glsl"

#include "taps.glsl"
#include "store.glsl"
#include "light.glsl"
#include "fold.glsl"
#include "lightrows.glsl"

uniform ivec2 planeFold;

layout(location = 0) out uvec4 redSum;
layout(location = 1) out uvec4 greenSum;
layout(location = 2) out uvec4 blueSum;

void main() {
  addUpLight(unfolded(drawnPlace(), planeFold));
  redSum = floatBitsToUint(lightSums[0]);
  greenSum = floatBitsToUint(lightSums[1]);
  blueSum = floatBitsToUint(lightSums[2]);
}
