#version 300 es
#ifdef IS_EXTERNAL
#extension GL_OES_EGL_image_external_essl3 : require
#endif
// The first of two passes: adds up weighted rows of a stored plane.
precision highp float;
precision highp int;
#include "place.glsl"

#include "taps.glsl"
#include "store.glsl"
#include "fold.glsl"
#include "rows.glsl"

uniform highp STORE plane;
uniform ivec4 planeStore;
uniform int firstColumn;           // in columns of eight or sixteen samples
uniform ivec2 planeFold;
uniform highp TABLE planeRows;
uniform int pairCount;             // texels of single rows
uniform vec2 stored;               // a sum's factor, and the offset that rounds it
uniform int halfShift;

layout(location = 0) out uvec4 firstSums;   // of samples 0 to 7
#ifdef TAKES_SIXTEEN
layout(location = 1) out uvec4 secondSums;  // of samples 8 to 15
#endif

void main() {
  ivec2 place = unfolded(drawnPlace(), planeFold);
  addUp(plane, planeStore, planeRows, place.y, pairCount, firstColumn + place.x, halfShift);
  firstSums = rounded(firstEight, stored);
#ifdef TAKES_SIXTEEN
  secondSums = rounded(secondEight, stored);
#endif
}
