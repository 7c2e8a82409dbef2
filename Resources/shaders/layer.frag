#version 300 es
// Draws one layer of a composition, four neighbouring pixels per fragment: its content, colour-adjusted, clipped,
// bordered, blended over the layers below and rounded to whole codes.
precision highp float;
precision highp int;
#include "place.glsl"

uniform ivec2 origin;      // the pixel of the composition that positions are relative to
uniform vec3 layerX;       // the layer's x: per pixel to the right, per pixel down, and at the origin's centre
uniform vec3 layerY;       // the layer's y, likewise
uniform vec3 colorScale;   // the colour adjustment of the content's codes
uniform vec3 colorOffset;

#ifdef SHOWS_COLOR
uniform vec3 color;
#endif
#ifdef SHOWS_GRADIENT
uniform vec3 firstColor;
uniform vec3 lastColor;
uniform vec3 ramp;         // the gradient's fraction: at the layer's corner, per pixel to the right, per pixel down
#endif
#ifdef SHOWS_PIXELS
#include "pixels.glsl"
#endif
#ifdef SHOWS_SAMPLES
#include "bell.glsl"
uniform vec2 samplesPerPixel;
#ifdef IS_TRANSFORMED
#include "pixels.glsl"
#else
uniform highp usampler2D spread;  // the bits of floats: samples across, the layer's rows down
uniform ivec2 lastSample;         // column and row
uniform int sampleCount;          // samples that four pixels read
#endif
#endif

#ifdef MIXES
uniform highp usampler2D below;
uniform vec4 layerBox;     // centre and half size of the layer
uniform vec4 shapeBox;     // centre and half size of the clipped part
uniform float radius;      // of the shape's corners
uniform float borderWidth;
uniform vec3 borderColor;
uniform float opacity;
#endif

layout(location = 0) out uvec4 pixels;

// The components of four pixels.
vec4 red;
vec4 green;
vec4 blue;
vec4 alpha = vec4(1.0);

// Codes often end in a half, and floats fall short of it. The slack is above their errors and below any other
// difference.
uvec4 rounded(vec4 codes) { return uvec4(floor(codes + (0.5 + 1.0 / 16384.0))); }

void unpack(uvec4 words) {
  red = vec4(words & 255u);
  green = vec4(words >> 8u & 255u);
  blue = vec4(words >> 16u & 255u);
#ifdef HAS_ALPHA
  alpha = vec4(words >> 24u) / 255.0;
#endif
}

#ifdef SHOWS_PIXELS
#ifdef IS_TRANSFORMED
void addCorner(ivec2 pixel, float weight, inout vec4 sum) {
  uint word = pixelAt(pixel);
#ifdef HAS_ALPHA
  weight *= float(word >> 24u) / 255.0;
#endif
  sum += vec4(colorOf(word), 1.0) * weight;
}

void fetchContent(vec4 x, vec4 y) {
  for (int index = 0; index < 4; ++index) {
    vec2 fromCentre = vec2(x[index], y[index]) - 0.5;
    vec2 corner = floor(fromCentre);
    vec2 part = fromCentre - corner;
    ivec2 first = ivec2(corner);
    vec4 sum = vec4(0.0);
    addCorner(first, (1.0 - part.x) * (1.0 - part.y), sum);
    addCorner(first + ivec2(1, 0), part.x * (1.0 - part.y), sum);
    addCorner(first + ivec2(0, 1), (1.0 - part.x) * part.y, sum);
    addCorner(first + ivec2(1, 1), part.x * part.y, sum);
#ifdef HAS_ALPHA
    alpha[index] = sum.a;
    sum.rgb /= max(sum.a, 1.0 / 65536.0);
#endif
    red[index] = sum.r;
    green[index] = sum.g;
    blue[index] = sum.b;
  }
}
#else
void fetchContent(vec4 x, vec4 y) { unpack(fourFrom(int(floor(x.x)), int(floor(y.x)))); }
#endif
#endif

#ifdef SHOWS_SAMPLES
#ifdef IS_TRANSFORMED
void fetchContent(vec4 x, vec4 y) {
  for (int index = 0; index < 4; ++index) {
    vec2 position = vec2(x[index], y[index]) * samplesPerPixel;
    vec2 middle = floor(position);
    vec4 columns = bell(position.x - middle.x - vec4(-0.5, 0.5, 1.5, 2.5));
    vec4 rows = bell(position.y - middle.y - vec4(-0.5, 0.5, 1.5, 2.5));
    vec3 sum = vec3(0.0);
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 3; ++column) {
        sum += columns[column] * rows[row] * colorOf(pixelAt(ivec2(middle) + ivec2(column - 1, row - 1)));
      }
    }
    red[index] = sum.r;
    green[index] = sum.g;
    blue[index] = sum.b;
  }
}
#else
void fetchContent(vec4 x, vec4 y) {
  vec4 positions = x * samplesPerPixel.x;
  int first = int(floor(positions.x)) - 1;
  int row = clamp(int(floor(y.x)), 0, lastSample.y);
  red = green = blue = vec4(0.0);
  for (int index = 0; index < sampleCount; ++index) {
    vec4 weights = bell(positions - (float(first + index) + 0.5));
    ivec2 place = ivec2(clamp(first + index, 0, lastSample.x), row);
    vec3 sampled = uintBitsToFloat(texelFetch(spread, place, 0).rgb);
    red += weights * sampled.r;
    green += weights * sampled.g;
    blue += weights * sampled.b;
  }
}
#endif
#endif

#ifdef SHOWS_COLOR
void fetchContent(vec4 x, vec4 y) {
  red = vec4(color.r);
  green = vec4(color.g);
  blue = vec4(color.b);
}
#endif

#ifdef SHOWS_GRADIENT
void fetchContent(vec4 x, vec4 y) {
  vec4 along = clamp(ramp.x + ramp.y * x + ramp.z * y, 0.0, 1.0);
  red = mix(vec4(firstColor.r), vec4(lastColor.r), along);
  green = mix(vec4(firstColor.g), vec4(lastColor.g), along);
  blue = mix(vec4(firstColor.b), vec4(lastColor.b), along);
}
#endif

#ifdef MIXES
vec4 distances(vec4 x, vec4 y, vec4 box, float radius) {
  vec4 beyondX = abs(x - box.x) - box.z + radius;
  vec4 beyondY = abs(y - box.y) - box.w + radius;
  vec4 outsideX = max(beyondX, 0.0);
  vec4 outsideY = max(beyondY, 0.0);
  return sqrt(outsideX * outsideX + outsideY * outsideY) + min(max(beyondX, beyondY), 0.0) - radius;
}

vec4 covered(vec4 distance) { return clamp(0.5 - distance, 0.0, 1.0); }

void mixWithBelow(vec4 x, vec4 y, ivec2 place) {
  vec4 distance = distances(x, y, shapeBox, radius);
  vec4 inside = covered(distance + borderWidth);
  vec4 edge = distances(x, y, layerBox, 0.0);
  vec4 amount = covered(max(distance, edge)) * opacity * mix(vec4(1.0), alpha, inside);
  uvec4 words = texelFetch(below, place, 0);
  red = mix(vec4(words & 255u), mix(vec4(borderColor.r), red, inside), amount);
  green = mix(vec4(words >> 8u & 255u), mix(vec4(borderColor.g), green, inside), amount);
  blue = mix(vec4(words >> 16u & 255u), mix(vec4(borderColor.b), blue, inside), amount);
}
#endif

void main() {
  ivec2 place = drawnPlace();
  ivec2 from = ivec2(place.x * 4, place.y) - origin;
#ifdef COPIES
  pixels = fourFrom(from.x, from.y) | 0xff000000u;
#else
  vec4 columns = float(from.x) + vec4(0.0, 1.0, 2.0, 3.0);
  vec4 x = layerX.x * columns + (layerX.y * float(from.y) + layerX.z);
  vec4 y = layerY.x * columns + (layerY.y * float(from.y) + layerY.z);
  fetchContent(x, y);
  red = clamp(red * colorScale.r + colorOffset.r, 0.0, 255.0);
  green = clamp(green * colorScale.g + colorOffset.g, 0.0, 255.0);
  blue = clamp(blue * colorScale.b + colorOffset.b, 0.0, 255.0);
#ifdef MIXES
  mixWithBelow(x, y, place);
#endif
  pixels = rounded(red) | rounded(green) << 8u | rounded(blue) << 16u | 0xff000000u;
#endif
}
