// The signals that a pass reads, each summed around a position by its own tap tables.

#ifdef IN_LINEAR_LIGHT
#include "light.glsl"
#endif

#if defined(READS_LUMA) || defined(RGB_IS_YCBCR)
#include "luma.glsl"
#endif
#if defined(READS_CHROMA) || (defined(RGB_IS_YCBCR) && defined(HAS_CHROMA))
#include "chroma.glsl"
#endif
#ifdef READS_RGB
#include "rgb.glsl"
#endif

#ifdef READS_LUMA
uniform highp sampler2D lumaColumns;
uniform highp sampler2D lumaRows;
uniform ivec2 lumaTaps;
uniform bool lumaSwapsAxes;
WEIGHTED_SUM(sampleLuma, fetchLuma, lumaColumns, lumaRows, lumaTaps, lumaSwapsAxes)
#endif

#ifdef READS_CHROMA
uniform highp sampler2D chromaColumns;
uniform highp sampler2D chromaRows;
uniform ivec2 chromaTaps;
uniform bool chromaSwapsAxes;
WEIGHTED_SUM(sampleChroma, fetchChroma, chromaColumns, chromaRows, chromaTaps, chromaSwapsAxes)
#endif

#ifdef READS_RGB
uniform highp sampler2D rgbColumns;
uniform highp sampler2D rgbRows;
uniform ivec2 rgbTaps;
uniform bool rgbSwapsAxes;
WEIGHTED_SUM(sampleRGB, fetchRGB, rgbColumns, rgbRows, rgbTaps, rgbSwapsAxes)
#endif
