#version 300 es
// Planes of Y'CbCr of a composed picture, whose pixels stand four to a texel: four samples of Y', or of Cb and of Cr, a fragment.
precision highp float;
precision highp int;

uniform highp usampler2D picture;
uniform ivec2 lastPixel;    // column and row; pixels beyond are those at the edge
uniform vec4 firstOutput;   // the row of the conversion, then its offset
uniform vec4 secondOutput;

layout(location = 0) out vec4 plane;
#ifdef WRITES_TWO_PLANES
layout(location = 1) out vec4 secondPlane;
#endif

// Four pixels; what a row lacks at its end is its last pixel.
uvec4 quad(int x, int y) {
  int lastTexel = lastPixel.x >> 2;
  uvec4 words = texelFetch(picture, ivec2(min(x, lastTexel), min(y, lastPixel.y)), 0);
  int past = lastPixel.x - x * 4;
  if (past >= 3) return words;
  uint last = words[lastPixel.x & 3];
  return uvec4(past < 0 ? last : words.x, past < 1 ? last : words.y, past < 2 ? last : words.z, last);
}

vec4 red = vec4(0.0);
vec4 green = vec4(0.0);
vec4 blue = vec4(0.0);

void add(uvec4 words) {
  red += vec4(words & 255u);
  green += vec4(words >> 8u & 255u);
  blue += vec4(words >> 16u & 255u);
}

// Pairs of neighbours.
void addPairs(uvec4 first, uvec4 second) {
  add(uvec4(first.xz, second.xz));
  add(uvec4(first.yw, second.yw));
}

vec4 converted(vec4 row, float share) {
  vec4 codes = (row.x * red + row.y * green + row.z * blue) * share + row.w;
  return floor(clamp(codes, 0.0, 255.0) + (0.5 + 1.0 / 16384.0)) / 255.0;
}

void main() {
  ivec2 place = ivec2(gl_FragCoord.xy);
  for (int row = 0; row < STEP_Y; ++row) {
    int y = place.y * STEP_Y + row;
#if STEP_X == 2
    addPairs(quad(place.x * 2, y), quad(place.x * 2 + 1, y));
#else
    add(quad(place.x, y));
#endif
  }
  float share = 1.0 / float(STEP_X * STEP_Y);
  plane = converted(firstOutput, share);
#ifdef WRITES_TWO_PLANES
  secondPlane = converted(secondOutput, share);
#endif
}
