// The bytes of the scan, whose bits begin with the highest of a word.
uint byteAt(int index) { return work[placesOfBytes.x + (index >> 2)] >> (24 - 8 * (index & 3)) & 255u; }

int firstByte() { return invocation() * CHUNK * 4; }
int lastByte() { return min(plainBytes(), firstByte() + CHUNK * 4); }
