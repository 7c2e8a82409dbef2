// Sums of the values before each of a workgroup's 64.
shared uint sums[64];

// Writes the sum of the values before this one of the workgroup at `place`, and the workgroup's at `placeOfGroup`.
void addUpBefore(uint value, int place, int placeOfGroup) {
  int lane = int(gl_LocalInvocationIndex);
  sums[lane] = value;
  for (int reach = 1; reach < 64; reach *= 2) {
    memoryBarrierShared();
    barrier();
    uint before = lane >= reach ? sums[lane - reach] : 0u;
    memoryBarrierShared();
    barrier();
    sums[lane] += before;
  }
  work[place + workgroup() * 64 + lane] = sums[lane] - value;
  if (lane == 63) work[placeOfGroup + workgroup()] = sums[lane];
}
