// One picture on its way to all who watch: a part of `multipart/x-mixed-replace`, made once, its bytes shared.
internal import GLPreview
internal import NIOCore

/// A part as it goes over the wire.
///
/// The boundary that ends a part is sent with it, not before the next one: browsers show a picture when they have seen
/// its end.
struct StreamPart: Sendable {
  /// Of all streams; ustreamer's and mjpg-streamer's.
  static let boundary = "boundarydonotcross"
  /// What a stream begins with.
  static let opening = ByteBuffer(string: "--\(boundary)\r\n")

  /// Headers, JPEG, and the boundary after it.
  let bytes: ByteBuffer
  /// Which frame it shows.
  let sequence: Int
  /// When that was captured, by `CaptureClock`.
  let timestamp: Duration
  /// In pixels.
  let size: Size
  /// How the source is.
  let state: SourceState
  /// Its part of the service's memory; nil where that is not counted.
  let lease: MemoryLease?

  /// A JPEG of a frame of `camera`'s `view`.
  ///
  /// - Throws: `MemoryBudgetExceeded` where `budget` has no room for it.
  init(
    _ jpeg: EncodedPicture, _ frame: PreviewFrame, camera: String, view: String, budget: MemoryBudget? = nil
  ) throws(MemoryBudgetExceeded) {
    lease = try budget?.reserve(jpeg.bytes.count)
    sequence = frame.sequence
    timestamp = frame.timestamp
    size = jpeg.size
    state = frame.sourceState
    let header =
      "Content-Type: image/jpeg\r\nContent-Length: \(jpeg.bytes.count)\r\n"
      + "X-Timestamp: \(WallTime(capturedAt: frame.timestamp).unixText)\r\n"
      + "X-Frame-Sequence: \(frame.sequence)\r\nX-Source-State: \(state.rawValue)\r\n"
      + "X-Camera: \(camera)\r\nX-View: \(view)\r\n\r\n"
    let footer = "\r\n--\(Self.boundary)\r\n"
    var buffer = ByteBufferAllocator().buffer(
      capacity: header.utf8.count + jpeg.bytes.count + footer.utf8.count)
    buffer.writeString(header)
    buffer.writeBytes(jpeg.bytes)
    buffer.writeString(footer)
    bytes = buffer
  }
}

extension PreviewFrame {
  /// What the picture says of its source.
  var sourceState: SourceState {
    switch fallback {
    case nil: .live
    case .off: .closed
    case .opening: .opening
    case .stalled: .stalled
    case .lost: .lost
    }
  }
}

extension WallTime {
  /// Seconds since 1970 with six digits after the point, as `X-Timestamp` has it: `1700000000.123456`.
  var unixText: String {
    let (seconds, attoseconds) = sinceEpoch.components
    let micros = String(1_000_000 + attoseconds / 1_000_000_000_000)
    return "\(seconds).\(micros.dropFirst())"
  }
}
