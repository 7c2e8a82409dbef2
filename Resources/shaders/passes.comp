#version 310 es
#ifdef IS_EXTERNAL
#extension GL_OES_EGL_image_external_essl3 : require
#endif
// Both passes in one: a workgroup adds up the rows that a tile of outputs needs, in memory that its invocations share, and
// weighs their columns. What rows.frag and columns.frag write and read between the passes never leaves the chip. The arithmetic is
// theirs, so that the outputs are the same.
precision highp float;
precision highp int;
layout(local_size_x = 128) in;

#include "taps.glsl"
#include "store.glsl"
#include "light.glsl"
#include "convert.glsl"
#ifdef SUMS_LIGHT
#include "lightrows.glsl"
#else
#include "rows.glsl"
#endif

uniform ivec2 tile;       // columns of four outputs, rows
uniform ivec2 drawnSize;  // in the same units

// The sums of the tile, by signal, row and texel.
shared uvec4 held[SHARED_TEXELS];

// What names a signal's sums is the place of the first. `window`: the texel of the whole row that is there, texels a row.
#define SUMS int
#define LIGHT_SUMS int
uvec4 sumsAt(SUMS sums, int texel, int row, ivec2 window) {
  return held[sums + row * window.y + texel - window.x];
}
uvec4 lightSumsAt(LIGHT_SUMS sums, int texel, int row, ivec2 window) { return sumsAt(sums, texel, row, window); }

// Declares a signal: its stored rows, its sums, and, by the name that columns.glsl uses, the window of the tile.
#ifdef SUMS_LIGHT
uniform ivec4 rgbSums;       // the places of the first sums of red, green and blue; texels a row
#define redRows rgbSums.x
#define greenRows rgbSums.y
#define blueRows rgbSums.z
ivec2 rgbFold;
#endif
#ifdef READS_LUMA
uniform highp STORE lumaPlane;
uniform ivec4 lumaStore;
uniform highp TABLE lumaRuns;
uniform ivec3 lumaRun;       // texels of single rows, the first column of eight samples, the shift of halves
uniform vec2 lumaStored;     // a sum's factor, and the offset that rounds it
uniform ivec4 lumaSums;      // the place of the first sum; texels a row in w
#define lumaRows lumaSums.x
ivec2 lumaFold;
#endif
#ifdef READS_CHROMA
uniform highp STORE cbPlane;
uniform ivec4 cbStore;
#ifdef CHROMA_IS_APART
uniform highp STORE crPlane;
uniform ivec4 crStore;
#endif
uniform highp TABLE chromaRuns;
uniform ivec3 chromaRun;
uniform vec2 chromaStored;
uniform ivec4 chromaSums;
#define cbRows chromaSums.x
#define crRows chromaSums.y
ivec2 chromaFold;
#endif
#ifdef RGB_BYTES
uniform highp STORE rgbPlane;
uniform ivec4 rgbStore;
uniform highp TABLE rgbRuns;
uniform ivec3 rgbRun;
uniform vec2 rgbStored;
uniform ivec4 rgbSums;
#define rgbRows rgbSums.x
ivec2 rgbFold;
#endif

#include "columns.glsl"

// The texels that the tile's outputs read. They are read from one end to the other.
ivec2 windowOf(highp TABLE columns, ivec2 records, ivec2 places, int stride) {
  int near = int(tableTexel(columns, places.x * records.x).x);
  int far = int(tableTexel(columns, places.y * records.x).x);
  return ivec2(min(near, far), stride);
}

// Divides COUNT pieces of each of the tile's rows among the invocations.
#define BEGIN_PIECES(COUNT) \
  for (int index = int(gl_LocalInvocationIndex); index < (COUNT) * tile.y; index += 128) { \
    int row = index / (COUNT); \
    int piece = index - row * (COUNT);
#define END_PIECES }

#ifndef SUMS_LIGHT
void hold(
  highp STORE plane, ivec4 store, highp TABLE runs, ivec3 run, vec2 stored, int firstRow, int sums, ivec2 window) {
  BEGIN_PIECES(window.y)
    addUp(plane, store, runs, min(firstRow + row, drawnSize.y - 1), run.x, run.y + window.x + piece, run.z);
    held[sums + row * window.y + piece] = rounded(firstEight, stored);
  END_PIECES
}
#endif

void main() {
  ivec2 origin = ivec2(gl_WorkGroupID.xy) * tile;
  ivec2 places = ivec2(origin.x, min(origin.x + tile.x, drawnSize.x) - 1);
#ifdef SUMS_LIGHT
  rgbFold = windowOf(rgbColumns, rgbRecords, places, rgbSums.w);
  BEGIN_PIECES(rgbFold.y)
    addUpLight(ivec2(rgbFold.x + piece, min(origin.y + row, drawnSize.y - 1)));
    int place = row * rgbFold.y + piece;
    held[redRows + place] = floatBitsToUint(lightSums[0]);
    held[greenRows + place] = floatBitsToUint(lightSums[1]);
    held[blueRows + place] = floatBitsToUint(lightSums[2]);
  END_PIECES
#endif
#ifdef READS_LUMA
  lumaFold = windowOf(lumaColumns, lumaRecords, places, lumaSums.w);
  hold(lumaPlane, lumaStore, lumaRuns, lumaRun, lumaStored, origin.y, lumaRows, lumaFold);
#endif
#ifdef READS_CHROMA
  chromaFold = windowOf(chromaColumns, chromaRecords, places, chromaSums.w);
  hold(cbPlane, cbStore, chromaRuns, chromaRun, chromaStored, origin.y, cbRows, chromaFold);
#ifdef CHROMA_IS_APART
  hold(crPlane, crStore, chromaRuns, chromaRun, chromaStored, origin.y, crRows, chromaFold);
#endif
#endif
#ifdef RGB_BYTES
  rgbFold = windowOf(rgbColumns, rgbRecords, places, rgbSums.w);
  hold(rgbPlane, rgbStore, rgbRuns, rgbRun, rgbStored, origin.y, rgbRows, rgbFold);
#endif
  memoryBarrierShared();
  barrier();
  BEGIN_PIECES(tile.x)
    ivec2 place = origin + ivec2(piece, row);
    if (all(lessThan(place, drawnSize))) weigh(place, row);
  END_PIECES
}
