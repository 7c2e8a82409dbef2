#version 310 es
// Turns the sums of workgroups into sums over those before each: of the bits of blocks, or with OF_STUFFING of the stuffing of
// chunks. One workgroup.
precision highp float;
precision highp int;
layout(local_size_x = 128) in;
#include "jpeg.glsl"
#include "jpegquality.glsl"

shared uint sums[128];

void main() {
  int lane = int(gl_LocalInvocationIndex);
#ifdef OF_STUFFING
  int place = placesOfBytes.z;
#else
  int place = placesOfBlocks.w;
#endif
  uint total = 0u;
  for (int first = 0; first < groupCount; first += 128) {
    bool isThere = first + lane < groupCount;
    uint value = isThere ? work[place + first + lane] : 0u;
    sums[lane] = value;
    for (int reach = 1; reach < 128; reach *= 2) {
      memoryBarrierShared();
      barrier();
      uint before = lane >= reach ? sums[lane - reach] : 0u;
      memoryBarrierShared();
      barrier();
      sums[lane] += before;
    }
    memoryBarrierShared();
    barrier();
    if (isThere) work[place + first + lane] = total + sums[lane] - value;
    total += sums[127];
    memoryBarrierShared();
    barrier();
  }
  if (lane > 0) return;
#ifdef OF_STUFFING
  uint count = uint(plainBytes()) + total;
  uint most = uint(budget.x > 0 ? min(budget.x, capacities.y * 4) : capacities.y * 4);
  bytes[placesOfBytes.w] = count == 0u || count > most ? TOO_MANY : count;
  if (budget.x > 0) bytes[placesOfBytes.w + 1] = work[chosen()];
#else
  work[placesOfBlocks.y] = budget.x > 0 && work[chosen()] == 0u ? TOO_MANY : total;
#endif
}
