// The stages measured by `glpreview_stage_seconds`.

/// A stage between camera and client.
enum ServiceStage: String, Sendable, CaseIterable {
  /// From upload to readback, including the wait for the GPU.
  case render
  /// Encoding a JPEG.
  case encode
  /// From capture until the picture is passed to a stream's connections.
  case deliver
  /// A snapshot, from request to answer.
  case snapshot
}
