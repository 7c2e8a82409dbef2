// The last known state of a camera.
internal import GLPreview

/// The state of a camera.
struct CameraReport: Sendable {
  var state = SourceState.idle
  /// Why it is stalled or lost.
  var reason: String?
  var since: WallTime
  /// The current frame rate, in frames per second.
  var framesPerSecond = 0.0
  var mode: SourceStatus.Mode?
  /// What is known of the size, upright or as stored.
  var counters = SourceStatus.Counters()
  /// The number of frames read.
  var frames = 0
  /// Whether it delivered a picture when last tested.
  var isProven = false
}
