// One picture of a stream as a part of `multipart/x-mixed-replace`, made once and shared by all connections.
internal import NIOCore

/// A part in the form that is sent.
///
/// It includes the boundary that ends it, because browsers only show a picture when they have seen its end.
struct StreamPart: Sendable {
  /// The boundary of all streams, equal to that of ustreamer and mjpg-streamer.
  static let boundary = "boundarydonotcross"
  /// The beginning of a stream.
  static let opening = ByteBuffer(string: "--\(boundary)\r\n")

  /// The header fields, the JPEG and the final boundary.
  let bytes: ByteBuffer
  /// The JPEG within `bytes`.
  var jpeg: ByteBuffer {
    bytes.getSlice(at: bytes.readerIndex + jpegStart, length: jpegCount) ?? ByteBuffer()
  }
  private let jpegStart: Int
  private let jpegCount: Int
  /// The capture time of the frame.
  let timestamp: CaptureInstant
  let size: Size
  /// The pose of a view through a lens; nil for others. While it moves, a frame may have several pictures.
  let pose: LensPose?
  /// The coder of the JPEG, by ustreamer's names: the camera (`HW`), the GPU (`M2M-IMAGE`) or the CPU (`CPU`).
  let encoder: String
  /// Its share of the memory budget.
  let lease: MemoryLease

  /// Creates a part with a JPEG of `view` of `camera`.
  ///
  /// - Throws: `MemoryBudget.Exceeded` if `budget` has too little memory left.
  init(
    _ jpeg: EncodedPicture, _ picture: PreviewPicture, camera: String, view: String, state: SourceState,
    budget: MemoryBudget
  ) throws(MemoryBudget.Exceeded) {
    lease = try budget.reserve(jpeg.bytes.count)
    (timestamp, pose) = (picture.timestamp, picture.pose)
    size = jpeg.size
    switch picture {
    case .original: encoder = "HW"
    case .drawn(let drawn):
      let scan = drawn.picture.scan
      encoder = scan != nil && scan?.quality == jpeg.quality ? "M2M-IMAGE" : "CPU"
    }
    let header =
      "Content-Type: image/jpeg\r\nContent-Length: \(jpeg.bytes.count)\r\n"
      + "X-Timestamp: \(WallTime(capturedAt: picture.timestamp).secondsText)\r\n"
      + "X-Frame-Sequence: \(picture.sequence)\r\nX-Source-State: \(state.rawValue)\r\n"
      + (picture.decodedEighths < 8 ? "X-Decode: 1/\(8 / picture.decodedEighths)\r\n" : "")
      + "X-Camera: \(camera)\r\nX-View: \(view)\r\n\r\n"
    let footer = "\r\n--\(Self.boundary)\r\n"
    var buffer = ByteBufferAllocator().buffer(
      capacity: header.utf8.count + jpeg.bytes.count + footer.utf8.count)
    buffer.writeString(header)
    buffer.writeBytes(jpeg.bytes)
    buffer.writeString(footer)
    bytes = buffer
    (jpegStart, jpegCount) = (header.utf8.count, jpeg.bytes.count)
  }
}
