// The Lanczos kernel: sinc windowed by sinc (C. Lanczos; Duchon 1979).
internal import Glibc

/// sinc(x) sinc(x / 3) for |x| < 3, else 0.
func lanczos3(_ x: Double) -> Double {
  guard abs(x) < 3 else { return 0 }
  guard abs(x) > 1e-12 else { return 1 }
  let angle = Double.pi * x
  return 3 * sin(angle) * sin(angle / 3) / (angle * angle)
}
