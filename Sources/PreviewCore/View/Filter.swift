// How samples between the pixels are made, and how big a picture shrinks into a small one.

/// A resampling filter, applied to each axis and each plane by itself.
public enum Filter: String, Sendable, Hashable, CaseIterable {
  /// `area` along an axis that shrinks or stays, `bilinear` along one that grows.
  case auto
  /// The sample whose span holds the centre.
  case nearest
  /// The two samples around the centre along each axis; no antialiasing.
  case bilinear
  /// The mean of what a target pixel covers, edges by their fraction; bilinear along an axis that grows.
  case area
  /// Lanczos with three lobes, widened where it shrinks.
  case lanczos
}
