// What the shaders that code a picture as JPEG have in common: their memory, and its parts.
// The picture's planes, four samples a word.
layout(std430, binding = 0) readonly buffer Samples { uint samples[]; };
// Quantised coefficients, two a word in zigzag order, 32 words a block; blocks in the order of the scan.
layout(std430, binding = 1) buffer Coefficients { uint coefficients[]; };
// The total of bits and what jpegquality.glsl has after it, bits before each block, the scan's bits, stuffing before each chunk; at the places below.
layout(std430, binding = 2) buffer Work { uint work[]; };
// The scan: its number of bytes, its quality if that was searched, and after two unused words the bytes.
layout(std430, binding = 3) buffer Bytes { uint bytes[]; };

// For zigzag order, four a vector: the divisors of luma and of chroma, and the places in a block. The codes of symbols, of 16
// for DC of luma and chroma and 256 for AC of both: the length in the upper half.
layout(std140, binding = 0) uniform Tables {
  uvec4 divisors[32];
  uvec4 naturalOrder[16];
  uvec4 codes[136];
};

// MCUs in a row; blocks of Y' in an MCU, across and down; the number of all blocks.
uniform ivec4 layoutOfBlocks;
// The first words of the parts: coefficients; in `work` totals, blocks, and their groups.
uniform ivec4 placesOfBlocks;
// In `work`: bits, chunks, and their groups; in `bytes`: the scan.
uniform ivec4 placesOfBytes;
// The most words of bits, and of bytes.
uniform ivec2 capacities;
// The most bytes of the scan within a budget, and the lowest and the highest quality for it; 0 without a budget.
uniform ivec3 budget;
// The workgroups that have work; in jpegscan.comp those whose values are added up.
uniform int groupCount;

// More than this many bytes do not fit.
#define TOO_MANY 0xffffffffu
// Words of bits in a chunk.
#define CHUNK 16

// A dispatch may have some workgroups more.
int workgroup() { return int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x); }
int invocation() { return workgroup() * 64 + int(gl_LocalInvocationIndex); }
int blockCount() { return layoutOfBlocks.w; }
int blocksOfLuma() { return layoutOfBlocks.y * layoutOfBlocks.z; }
int blocksOfMCU() { return blocksOfLuma() + 2; }

// The scan's bytes before stuffing; 0 if they do not fit.
int plainBytes() {
  uint bits = work[placesOfBlocks.y];
  return bits > uint(capacities.x) * 32u ? 0 : int((bits + 7u) >> 3);
}
