// Pictures for readers that take a camera's own JPEG where a view shows just that: nothing is decoded, drawn or
// encoded.
package import PreviewCore

/// A picture for a reader of JPEGs.
package enum PreviewPicture: Sendable {
  /// It was drawn, and is to be encoded.
  case drawn(RenderedPicture)
  /// The camera's own JPEG.
  case passed(PassedPicture)

  var key: PictureKey {
    switch self {
    case .drawn(let picture): picture.key
    case .passed(let picture): picture.key
    }
  }

  package var sequence: Int {
    switch self {
    case .drawn(let picture): picture.sequence
    case .passed(let picture): picture.sequence
    }
  }

  package var timestamp: CaptureInstant {
    switch self {
    case .drawn(let picture): picture.timestamp
    case .passed(let picture): picture.timestamp
    }
  }

  package var sourceState: SourceState {
    switch self {
    case .drawn(let picture): picture.sourceState
    case .passed: .live
    }
  }

  /// The camera's own JPEG, or that of `RenderedPicture.jpeg`.
  package func jpeg(quality: Int) async throws -> EncodedPicture {
    switch self {
    case .drawn(let picture): try await picture.jpeg(quality: quality)
    case .passed(let picture): picture.jpeg
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

  /// The picture of a view of `version`; nil if no preview shows it.
  init(_ source: LiveJPEG, version: Int? = nil) {
    jpeg = EncodedPicture(bytes: source.jpeg.bytes, quality: nil, size: source.jpeg.size)
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
