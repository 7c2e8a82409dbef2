#version 300 es
// Samples the signals of a frame, converts them, and writes a plane of a picture: R, G, B, A, or one component of
// Y'CbCr with four neighbouring columns per texel.
precision highp float;
precision highp int;

#include "taps.glsl"
#include "signals.glsl"

uniform ivec2 positionsPerSample;  // more than one only where converted pixels are averaged to subsampled chroma
uniform ivec2 lastPosition;        // positions beyond it use the edge's
uniform ivec2 coverageEntries;     // where the tables' coverage begins: columns, rows
uniform mat3 conversion;
uniform vec3 conversionOffset;
uniform vec3 background;
uniform vec3 component;            // selects the component to write, if only one is written

layout(location = 0) out vec4 texel;

float coverageAt(ivec2 position) {
  ivec2 entries = coverageEntries + position;
#if defined(READS_RGB)
  return tableEntry(rgbColumns, entries.x).x * tableEntry(rgbRows, entries.y).x;
#elif defined(READS_LUMA)
  return tableEntry(lumaColumns, entries.x).x * tableEntry(lumaRows, entries.y).x;
#else
  return tableEntry(chromaColumns, entries.x).x * tableEntry(chromaRows, entries.y).x;
#endif
}

vec3 codesAt(ivec2 position) {
#ifdef READS_RGB
  vec3 filtered = clamp(sampleRGB(position), 0.0, 255.0);
#ifdef IN_LINEAR_LIGHT
  return codesFromLight(filtered);
#else
  return filtered;
#endif
#else
  vec3 codes = vec3(0.0);
#ifdef READS_LUMA
  codes += sampleLuma(position);
#else
  codes.x = 128.0;
#endif
#ifdef READS_CHROMA
  codes += sampleChroma(position);
#else
  codes.yz = vec2(128.0);
#endif
  return codes;
#endif
}

vec3 convertedAt(ivec2 position) {
  return mix(background, conversion * codesAt(position) + conversionOffset, coverageAt(position));
}

vec3 outputSample(ivec2 place) {
  vec3 sum = vec3(0.0);
  for (int y = 0; y < positionsPerSample.y; ++y) {
    for (int x = 0; x < positionsPerSample.x; ++x) {
      sum += convertedAt(min(place * positionsPerSample + ivec2(x, y), lastPosition));
    }
  }
  return sum / float(positionsPerSample.x * positionsPerSample.y);
}

// Clamps, rounds half up, and scales to a target of normalised bytes.
vec4 bytes(vec4 codes) { return floor(clamp(codes, 0.0, 255.0) + 0.5) / 255.0; }

void main() {
  ivec2 place = ivec2(gl_FragCoord.xy);
#ifdef PACKS_FOUR
  vec4 samples;
  for (int index = 0; index < 4; ++index) {
    samples[index] = dot(outputSample(ivec2(place.x * 4 + index, place.y)), component);
  }
  texel = bytes(samples);
#else
  texel = bytes(vec4(outputSample(place), 255.0));
#endif
}
