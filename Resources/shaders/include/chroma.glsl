// One sample of Cb and Cr as (0, code, code).

uniform highp usampler2D cbPlane;
uniform highp usampler2D crPlane;
uniform vec4 cbChannel;
uniform vec4 crChannel;
uniform ivec4 chromaTexels;  // texels from one sample to the next; texel of the first Cb; of the first Cr
uniform ivec4 chromaBands;

vec3 fetchChroma(ivec2 place) {
#ifdef CHROMA_IS_REDUCED
  return vec3(0.0, uintBitsToFloat(texelFetch(cbPlane, place, 0).rg));
#else
  ivec2 cb = inBands(ivec2(place.x * chromaTexels.x + chromaTexels.y, place.y), chromaBands);
  ivec2 cr = inBands(ivec2(place.x * chromaTexels.x + chromaTexels.z, place.y), chromaBands);
  return vec3(
    0.0, dot(vec4(texelFetch(cbPlane, cb, 0)), cbChannel), dot(vec4(texelFetch(crPlane, cr, 0)), crChannel));
#endif
}
