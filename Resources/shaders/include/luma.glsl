// One sample of Y' as (code, 0, 0).

uniform highp usampler2D lumaPlane;
uniform vec4 lumaChannel;
uniform ivec4 lumaBands;

vec3 fetchLuma(ivec2 place) {
#ifdef LUMA_IS_REDUCED
  return vec3(uintBitsToFloat(texelFetch(lumaPlane, place, 0).r), 0.0, 0.0);
#else
  return vec3(dot(vec4(texelFetch(lumaPlane, inBands(place, lumaBands), 0)), lumaChannel), 0.0, 0.0);
#endif
}
