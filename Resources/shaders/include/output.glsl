// Writes four neighbouring outputs of one component of Y'CbCr, of two, or whole pixels: as a fragment does, or, in a compute
// shader, as a texel of images, or as words of a buffer.
#ifdef WRITES_BUFFER
#ifdef WRITES_PIXELS
layout(std430, binding = 0) writeonly buffer Pictures { uvec4 pictures[]; };
#else
layout(std430, binding = 0) writeonly buffer Pictures { uint pictures[]; };
#endif
uniform ivec3 rowsInBuffer;  // in words: the first of either plane, and from one row to the next
#endif
#ifdef WRITES_PIXELS
#ifdef WRITES_BUFFER
void writePixels(ivec2 place, uvec4 words) {
  pictures[((rowsInBuffer.x + place.y * rowsInBuffer.z) >> 2) + place.x] = words;
}
#elif defined(COMPUTES)
layout(rgba32ui, binding = 0) writeonly uniform highp uimage2D pixels;
void writePixels(ivec2 place, uvec4 words) { imageStore(pixels, place, words); }
#else
layout(location = 0) out uvec4 pixels;
void writePixels(ivec2 place, uvec4 words) { pixels = words; }
#endif
#else
#ifdef WRITES_BUFFER
void writePlane(ivec2 place, vec4 samples) {
  pictures[rowsInBuffer.x + place.y * rowsInBuffer.z + place.x] = packUnorm4x8(samples);
}
#elif defined(COMPUTES)
layout(rgba8, binding = 0) writeonly uniform highp image2D plane;
void writePlane(ivec2 place, vec4 samples) { imageStore(plane, place, samples); }
#else
layout(location = 0) out vec4 plane;
void writePlane(ivec2 place, vec4 samples) { plane = samples; }
#endif
#ifdef WRITES_TWO_PLANES
#ifdef WRITES_BUFFER
void writeSecondPlane(ivec2 place, vec4 samples) {
  pictures[rowsInBuffer.y + place.y * rowsInBuffer.z + place.x] = packUnorm4x8(samples);
}
#elif defined(COMPUTES)
layout(rgba8, binding = 1) writeonly uniform highp image2D secondPlane;
void writeSecondPlane(ivec2 place, vec4 samples) { imageStore(secondPlane, place, samples); }
#else
layout(location = 1) out vec4 secondPlane;
void writeSecondPlane(ivec2 place, vec4 samples) { secondPlane = samples; }
#endif
#endif
#endif
