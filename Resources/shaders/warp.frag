#version 300 es
#ifdef IS_EXTERNAL
#extension GL_OES_EGL_image_external_essl3 : require
#endif
// Draws a warped view: each output is the mean of samples around positions of the stored picture, which are
// interpolated between the nodes of a grid. Makes four neighbouring outputs at a time.
//
// Whole numbers decide which samples are read, exactly as WarpGrid and WarpSampling do. Positions are in 1/256 of a pixel of
// the stored picture, those in the target in 1/64 of a pixel.
precision highp float;
precision highp int;
#include "place.glsl"

#include "taps.glsl"

#include "store.glsl"
#include "convert.glsl"

// A texel for each node but those of the last row: x and y, with the ratios of its cell in the highest bytes, then x and y
// of the node below. A cell has three nodes along each side.
uniform highp TABLE nodes;
uniform ivec4 grid;         // nodes of a row, log2 of a cell's side, and an output sample's width and height
uniform ivec4 placed;       // the part of the target that shows the picture: left, top, right, bottom
uniform ivec4 crop;         // the part of the stored picture that is shown, likewise
uniform int lastOutput;     // the last column
uniform int tapCount;       // samples for each position, along rows and columns: 1, 2 or 4
uniform int finest;         // log2 of a source sample's pixels; -1 for a single position

#ifdef READS_LUMA
uniform highp STORE lumaPlane;
uniform ivec4 lumaStore;
uniform int lumaFirst;      // the first sample's byte
uniform int lumaStep;       // bytes from one sample to the next
uniform ivec4 lumaSamples;  // the first column and row that may be read, then the last ones
uniform ivec4 lumaScale;    // decoded pixels per eight, their offset along rows, log2 of pixels per column and row
float luma;
#endif
#ifdef READS_CHROMA
uniform highp STORE cbPlane;
uniform highp STORE crPlane;
uniform ivec4 cbStore;
uniform ivec4 crStore;
uniform ivec2 chromaFirst;  // the first bytes of Cb and Cr
uniform int chromaStep;
uniform ivec4 chromaSamples;
uniform ivec4 chromaScale;
vec2 chroma;
#endif
#ifdef READS_RGB
uniform highp STORE rgbPlane;
uniform ivec4 rgbStore;
uniform ivec3 rgbFirst;     // the first bytes of R, G and B
uniform int rgbStep;
uniform ivec4 rgbSamples;
uniform ivec4 rgbScale;
#ifdef HAS_ALPHA
uniform vec3 behind;
#endif
vec3 rgb;
#endif

// One sample, as a code 0...255.
float codeAt(highp STORE plane, ivec4 store, int byte, int row) {
#ifdef IS_WIDE
  return float(byteAt(plane, store, byte, row) | byteAt(plane, store, byte + 1, row) << 8u) / 257.0;
#else
  return float(byteAt(plane, store, byte, row));
#endif
}

#ifdef READS_LUMA
float lumaAt(ivec2 place) {
  return codeAt(lumaPlane, lumaStore, place.x * lumaStep + lumaFirst, place.y);
}
#endif

#ifdef READS_CHROMA
vec2 chromaAt(ivec2 place) {
  ivec2 bytes = place.x * chromaStep + chromaFirst;
  return vec2(codeAt(cbPlane, cbStore, bytes.x, place.y), codeAt(crPlane, crStore, bytes.y, place.y));
}
#endif

#ifdef READS_RGB
vec3 rgbAt(ivec2 place) {
#if READS_RGB == 3 || defined(IS_WIDE)
  ivec3 bytes = place.x * rgbStep + rgbFirst;
  vec3 codes = vec3(
    codeAt(rgbPlane, rgbStore, bytes.x, place.y), codeAt(rgbPlane, rgbStore, bytes.y, place.y),
    codeAt(rgbPlane, rgbStore, bytes.z, place.y));
#ifdef HAS_ALPHA
  // Only pixels of four channels have alpha.
  float alpha = codeAt(rgbPlane, rgbStore, place.x * rgbStep + 6, place.y);
#endif
#else
  // A pixel's bytes are a word.
  uint word = wordAt(rgbPlane, rgbStore, place.x, place.y);
  vec3 codes = vec3(uvec3(word) >> (uvec3(rgbFirst) * 8u) & 255u);
#ifdef HAS_ALPHA
  float alpha = float(word >> 24u);
#endif
#endif
#ifdef HAS_ALPHA
  return mix(behind, codes, alpha / 255.0);
#else
  return codes;
#endif
}
#endif

// A position in 1/256 of a sample of a plane.
ivec2 planePosition(ivec2 position, ivec4 scale) {
  ivec2 decoded = position * scale.x >> 3;
  decoded.x += scale.y;
  return decoded >> scale.zw;
}

// The weights of the samples around a position that is `phase` / 256 beyond one of them: of this one alone, or of the
// four of the Catmull-Rom spline, of which it is the second.
vec4 weightsOf(int phase) {
  float t = float(phase) / 256.0;
  return tapCount == 1
    ? vec4(1.0, 0.0, 0.0, 0.0)
    : 0.5 * vec4(
      ((2.0 - t) * t - 1.0) * t, (3.0 * t - 5.0) * t * t + 2.0, ((4.0 - 3.0 * t) * t + 1.0) * t,
      (t - 1.0) * t * t);
}

// Adds the value at a position, interpolated between the samples that `AT` reads, to `SUM`.
#define ADD_AROUND(SUM, AT, SCALE, SAMPLES) { \
  ivec2 centred = planePosition(position, SCALE) - (tapCount == 1 ? 0 : 128); \
  ivec2 phase = centred & 255; \
  ivec2 start = centred >> 8; \
  if (tapCount == 2) { \
    ivec2 near = clamp(start, SAMPLES.xy, SAMPLES.zw); \
    ivec2 far = clamp(start + 1, SAMPLES.xy, SAMPLES.zw); \
    vec2 part = vec2(phase) / 256.0; \
    SUM += mix( \
      mix(AT(near), AT(ivec2(far.x, near.y)), part.x), mix(AT(ivec2(near.x, far.y)), AT(far), part.x), \
      part.y); \
  } else { \
    start -= tapCount >> 2; \
    vec4 across = weightsOf(phase.x); \
    vec4 down = weightsOf(phase.y); \
    for (int y = 0; y < tapCount; ++y) { \
      for (int x = 0; x < tapCount; ++x) { \
        SUM += AT(clamp(start + ivec2(x, y), SAMPLES.xy, SAMPLES.zw)) * (across[x] * down[y]); \
      } \
    } \
  } \
}

void add(ivec2 position) {
#ifdef READS_LUMA
  ADD_AROUND(luma, lumaAt, lumaScale, lumaSamples)
#endif
#ifdef READS_CHROMA
  ADD_AROUND(chroma, chromaAt, chromaScale, chromaSamples)
#endif
#ifdef READS_RGB
  ADD_AROUND(rgb, rgbAt, rgbScale, rgbSamples)
#endif
}

// The position at a part of the way along a cell's side, on the parabola through three nodes.
ivec2 between(ivec2 first, ivec2 second, ivec2 third, int part) {
  int bits = grid.y - 1;
  int side = 1 << bits;
  // Without four bits of the square, so that products fit 32.
  ivec2 bend = (third - 2 * second + first) * (part * (part - side) >> 4) >> (grid.y - 4);
  return first + (((second - first) * part + bend + (side >> 1)) >> bits);
}

// The node of a texel, without the ratios in the highest bytes.
ivec2 nodeOf(uvec4 texel) { return ivec2(texel.xy << 8u) >> 8; }

// The number of positions of an output along rows and columns, from the source pixels per output in 1/16.
ivec2 countOf(ivec2 ratio) {
  if (ratio.x == 0) return ivec2(0);
  if (finest < 0) return ivec2(1);
  ivec2 sixteenths = ratio * (grid.zw >> 6) >> finest;
  ivec2 count = (3 * sixteenths + 31) >> 5;
  count = ivec2(count.x > 5 ? 8 : count.x, count.y > 5 ? 8 : count.y);
  return ivec2(sixteenths.x <= 18 ? 1 : count.x, sixteenths.y <= 18 ? 1 : count.y);
}

// The middle of a part of an output sample's side, rounded. Adding a half keeps the quotient away from whole numbers.
int middleOf(int index, int count, int side) {
  return int((float(side * (2 * index + 1) + count) + 0.5) / float(2 * count));
}

bool shows(ivec2 point, ivec2 position) {
  return all(greaterThanEqual(ivec4(point, position), ivec4(placed.xy, crop.xy)))
    && all(lessThan(ivec4(point, position), ivec4(placed.zw, crop.zw)));
}

// Computes the mean over the positions of an output that show the source; returns their part of all positions.
float collect(ivec2 place) {
#ifdef READS_LUMA
  luma = 0.0;
#endif
#ifdef READS_CHROMA
  chroma = vec2(0.0);
#endif
#ifdef READS_RGB
  rgb = vec3(0.0);
#endif
  // An output lies in one cell.
  ivec2 corner = place * grid.zw;
  ivec2 cell = corner >> grid.y;
  ivec2 origin = cell << grid.y;
  corner -= origin;
  int upper = 2 * (cell.y * grid.x + cell.x);
  int lower = upper + grid.x;
  uvec4 texels[3] = uvec4[3](
    tableTexel(nodes, upper), tableTexel(nodes, upper + 1), tableTexel(nodes, upper + 2));
  ivec2 last[3] = ivec2[3](
    ivec2(tableTexel(nodes, lower).zw), ivec2(tableTexel(nodes, lower + 1).zw),
    ivec2(tableTexel(nodes, lower + 2).zw));
  ivec2 count = countOf(ivec2(texels[0].xy >> 24u));
  int shown = 0;
  for (int y = 0; y < count.y; ++y) {
    int down = corner.y + middleOf(y, count.y, grid.w);
    ivec2 edges[3];
    for (int i = 0; i < 3; ++i) edges[i] = between(nodeOf(texels[i]), ivec2(texels[i].zw), last[i], down);
    for (int x = 0; x < count.x; ++x) {
      int along = corner.x + middleOf(x, count.x, grid.z);
      ivec2 position = between(edges[0], edges[1], edges[2], along);
      if (shows(origin + ivec2(along, down), position)) {
        add(position);
        ++shown;
      }
    }
  }
  float parts = float(max(shown, 1));
#ifdef READS_LUMA
  luma /= parts;
#endif
#ifdef READS_CHROMA
  chroma /= parts;
#endif
#ifdef READS_RGB
  rgb = clamp(rgb / parts, 0.0, 255.0);
#endif
  return float(shown) / float(max(count.x * count.y, 1));
}

void main() {
  ivec2 place = drawnPlace();
  if (isBeyond(place)) return;
  vec4 first = vec4(128.0);
  vec4 second = vec4(128.0);
  vec4 third = vec4(128.0);
  vec4 coverage;
  for (int index = 0; index < 4; ++index) {
    coverage[index] = collect(ivec2(min(place.x * 4 + index, lastOutput), place.y));
#ifdef READS_LUMA
    first[index] = luma;
#endif
#ifdef READS_CHROMA
    second[index] = chroma.x;
    third[index] = chroma.y;
#endif
#ifdef READS_RGB
    first[index] = rgb.x;
    second[index] = rgb.y;
    third[index] = rgb.z;
#endif
  }
  convert(place, first, second, third, coverage);
}
