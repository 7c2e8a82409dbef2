// Quantisation (libjpeg, jcdctmgr.c and jcparam.c).
int quantised(int value, uint divisor) {
  int result = int((uint(abs(value)) + (divisor >> 1)) / divisor);
  return value < 0 ? -result : result;
}

// The divisor of a quality, where `divisors` has those of quality 50, of which the others are per cent.
uint divisorAt(int quality, int table, int index) {
  uint percent = uint(quality < 50 ? 5000 / quality : 200 - 2 * quality);
  uint usual = divisors[table * 16 + (index >> 2)][index & 3] >> 3;
  return clamp((usual * percent + 50u) / 100u, 1u, 255u) << 3;
}

// For pictures within a budget, in `work` after the total of bits: the range of qualities that is searched, the chosen one (0
// before one fits), and the bits of candidates.
#define CANDIDATES 10
int lowest() { return placesOfBlocks.y + 1; }
int highest() { return placesOfBlocks.y + 2; }
int chosen() { return placesOfBlocks.y + 3; }
int bitsOf(int candidate) { return placesOfBlocks.y + 4 + candidate; }

// The candidates' qualities, from the lowest to the highest.
int candidateAt(int index) {
  int low = int(work[lowest()]), high = int(work[highest()]);
  return low + (high - low) * index / (CANDIDATES - 1);
}
