// How a camera is, as it was seen last.
internal import GLPreview

/// Where a camera stands, for those who ask over HTTP.
enum CameraState: String, Sendable, Hashable, CaseIterable {
  /// Being opened.
  case opening
  /// Pictures come.
  case live
  /// Open, but no picture for a while.
  case stalled
  /// Gone, or can't be opened.
  case lost
  /// Nobody looks, so it is closed.
  case idle
}

/// How a camera is.
struct CameraReport: Sendable {
  var state = CameraState.idle
  /// Why it is stalled or lost.
  var reason: String?
  var since: WallTime
  /// Frames a second, of late.
  var framesPerSecond = 0.0
  var mode: CaptureMode?
  /// What is known of the size, upright or as stored.
  var counters = SourceCounters()
  /// Frames that were taken of it.
  var frames = 0
  /// Whether it gave a picture when it was asked last.
  var isProven = false
}
