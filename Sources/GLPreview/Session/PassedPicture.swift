// Pictures for readers that take a camera's own JPEG or H.264 where a view shows just that: nothing is decoded, drawn or
// encoded.
package import PreviewCore

/// A picture for a reader of JPEGs or of H.264.
package enum PreviewPicture: Sendable {
  /// It was drawn, and is to be encoded.
  case drawn(RenderedPicture)
  /// The camera's own JPEG.
  case passed(PassedPicture)
  /// The camera's own H.264, for readers of videos.
  case video(PassedVideo)

  var key: PictureKey {
    switch self {
    case .drawn(let picture): picture.key
    case .passed(let picture): picture.key
    case .video(let picture): picture.key
    }
  }

  package var sequence: Int {
    switch self {
    case .drawn(let picture): picture.sequence
    case .passed(let picture): picture.sequence
    case .video(let picture): picture.sequence
    }
  }

  package var timestamp: CaptureInstant {
    switch self {
    case .drawn(let picture): picture.timestamp
    case .passed(let picture): picture.timestamp
    case .video(let picture): picture.timestamp
    }
  }

  package var sourceState: SourceState {
    switch self {
    case .drawn(let picture): picture.sourceState
    case .passed, .video: .live
    }
  }

  /// Whether it is a single picture of the camera. Video brings all pictures since the last one.
  var isShownByItself: Bool { if case .video = self { false } else { sourceState == .live } }

  /// The camera's own JPEG, or that of `RenderedPicture.jpeg`.
  package func jpeg(quality: Int) async throws -> EncodedPicture {
    switch self {
    case .drawn(let picture): try await picture.jpeg(quality: quality)
    case .passed(let picture): picture.jpeg
    case .video: throw SessionError("a picture of H.264 is no JPEG")
    }
  }
}

/// A JPEG as its camera sent it. It counts against the memory budget while it is held.
package struct PassedPicture: Sendable {
  /// The file; its quality is not known.
  package let jpeg: EncodedPicture
  /// As of `RenderedPicture`.
  package let sequence: Int
  /// As of `RenderedPicture`.
  package let timestamp: CaptureInstant
  let key: PictureKey
  private let lease: MemoryLease?

  /// The picture of a view of `version`; nil if no preview shows it. There is none of what is no JPEG.
  init?(_ source: CameraPicture, version: Int? = nil) {
    guard case .jpeg(let passable) = source.content else { return nil }
    jpeg = EncodedPicture(bytes: passable.bytes, quality: nil, size: passable.size)
    sequence = source.sequence
    timestamp = source.timestamp
    key = PictureKey(sequence: source.sequence, version: version)
    lease = source.lease
  }
}

extension Preview {
  /// Whether a view of the same source may be shown by the source's own JPEGs, if it gives any.
  package func mayPass(_ view: ViewConfiguration) -> Bool {
    guard view.isWhole, let source = (producer as? SourceFeed)?.source else { return false }
    return source.isLive && source.options.showsJPEGs
  }
}
