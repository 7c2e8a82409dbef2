// Resampling filters: how samples between pixels are interpolated, and how pictures are reduced.

/// A resampling filter, applied separately to each axis and plane.
public enum Filter: String, Sendable, Hashable, CaseIterable {
  /// `area` along an axis that shrinks or keeps its size, `bilinear` along one that grows.
  case auto
  /// The sample whose span contains the centre.
  case nearest
  /// Interpolates the two nearest samples along each axis, without antialiasing.
  case bilinear
  /// The mean of the area that a target pixel covers, with partly covered edge samples weighted; bilinear along an
  /// axis that grows.
  case area
  /// Lanczos with three lobes, widened along an axis that shrinks.
  case lanczos

  /// Whether samples are interpolated as encoded or in linear light.
  public enum Light: Sendable, Hashable {
    /// As encoded, like nearly all software.
    case encoded
    /// In linear light (IEC 61966-2-1), like a lens: fine bright detail keeps its brightness.
    case linear
  }
}
