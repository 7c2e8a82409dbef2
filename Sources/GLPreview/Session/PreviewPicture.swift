// Pictures for readers that accept a camera's own JPEG or H.264 where a view shows exactly that: nothing is
// decoded, drawn or encoded.

/// A picture for a reader of JPEGs or of H.264.
package enum PreviewPicture: Sendable {
  /// A drawn picture, which is still to be encoded.
  case drawn(RenderedPicture)
  /// The camera's own JPEG, or for readers of videos its H.264, for this version of the preview.
  case original(CameraPicture, version: Int)

  var key: PictureKey {
    switch self {
    case .drawn(let picture): picture.key
    case .original(let picture, let version): PictureKey(sequence: picture.sequence, version: version)
    }
  }

  package var sequence: Int { max(key.sequence, 0) }

  /// The pose of a view through a lens; nil for other pictures.
  package var pose: LensPose? { key.pose }

  package var timestamp: CaptureInstant {
    switch self {
    case .drawn(let picture): picture.timestamp
    case .original(let picture, _): picture.timestamp
    }
  }

  package var sourceState: SourceState {
    if case .drawn(let picture) = self { picture.sourceState } else { .live }
  }

  /// The scale at which the camera's JPEG was decoded, in eighths; 8 for a picture that was not.
  package var decodedEighths: Int {
    if case .drawn(let picture) = self { picture.decodedEighths } else { 8 }
  }

  /// The position in the camera's H.264, of which the reader gets all pictures since its last one; nil for a
  /// single picture.
  var video: OriginalVideo.Place? {
    if case .original(let picture, _) = self, case .h264(let place) = picture.content { place } else { nil }
  }

  /// Whether it is coded already, and has no samples for another quality.
  package var isCoded: Bool {
    if case .drawn(let picture) = self { picture.picture.planes.isEmpty } else { false }
  }

  /// Returns the camera's own JPEG, or that of `RenderedPicture.jpeg`.
  package func jpeg(quality: Int) async throws -> EncodedPicture {
    switch self {
    case .drawn(let picture): return try await picture.jpeg(quality: quality)
    case .original(let picture, _):
      guard let jpeg = picture.jpeg else { throw SessionError("H.264 has no JPEG") }
      return jpeg
    }
  }
}

extension CameraPicture {
  /// The file as the camera sent it, of unknown quality; nil unless it is a JPEG.
  package var jpeg: EncodedPicture? {
    guard case .jpeg(let jpeg) = content else { return nil }
    return EncodedPicture(bytes: jpeg.bytes, quality: nil, size: jpeg.size)
  }
}

extension Preview {
  /// Whether the source's own JPEGs, if it delivers any, may be passed through for a view of the same source.
  package func mayPass(_ view: ViewConfiguration) -> Bool {
    guard view.isWhole, let source = (producer as? SourceFeed)?.source else { return false }
    return source.isLive && source.options.showsJPEGs
  }
}
