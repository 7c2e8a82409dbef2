// One sample of R, G and B as codes, or as linear light times 255.

#if defined(RGB_IS_REDUCED)

uniform highp usampler2D rgbPlane;

vec3 fetchRGB(ivec2 place) { return uintBitsToFloat(texelFetch(rgbPlane, place, 0).rgb); }

#elif defined(RGB_IS_YCBCR)

uniform mat3 decoding;
uniform vec3 decodingOffset;
#ifdef HAS_CHROMA
uniform vec2 chromaScale;   // chroma samples per pixel
uniform vec2 chromaSiting;  // added to a pixel's position times the scale
uniform ivec4 chromaSpan;   // first column and row, last column and row of the crop

vec3 upsampledChroma(ivec2 place) {
  vec2 position = (vec2(place) + 0.5) * chromaScale + chromaSiting - 0.5;
  ivec2 corner = ivec2(floor(position));
  vec2 fraction = position - vec2(corner);
  ivec2 first = clamp(corner, chromaSpan.xy, chromaSpan.zw);
  ivec2 second = clamp(corner + 1, chromaSpan.xy, chromaSpan.zw);
  vec3 top = mix(fetchChroma(first), fetchChroma(ivec2(second.x, first.y)), fraction.x);
  vec3 bottom = mix(fetchChroma(ivec2(first.x, second.y)), fetchChroma(second), fraction.x);
  return mix(top, bottom, fraction.y);
}
#else
vec3 upsampledChroma(ivec2 place) { return vec3(0.0, 128.0, 128.0); }
#endif

vec3 fetchRGB(ivec2 place) {
  vec3 codes = fetchLuma(place) + upsampledChroma(place);
  return lightFromCodes(decoding * codes + decodingOffset);
}

#else

uniform highp usampler2D rgbPlane;
uniform ivec4 rgbBands;
uniform float codeScale;  // 1, or 1/257 for 16 bits
uniform vec3 behind;      // the colour behind a transparent frame

vec3 fetchRGB(ivec2 place) {
  vec4 codes = vec4(texelFetch(rgbPlane, inBands(place, rgbBands), 0)) * codeScale;
#ifdef HAS_ALPHA
  vec3 color = mix(behind, codes.rgb, codes.a / 255.0);
#else
  vec3 color = codes.rgb;
#endif
#ifdef IN_LINEAR_LIGHT
  return lightFromCodes(color);
#else
  return color;
#endif
}

#endif
