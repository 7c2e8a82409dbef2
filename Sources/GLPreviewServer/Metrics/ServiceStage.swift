// The parts of a picture's way whose time is measured.

/// A part of a picture's way whose time is measured.
enum ServiceStage: String, Sendable, CaseIterable {
  /// From upload to readback, with the wait for the GPU.
  case render
  /// Of a JPEG.
  case encode
  /// From capture until it is handed to the connections of a stream.
  case deliver
  /// A snapshot, from the request to the answer.
  case snapshot
}
