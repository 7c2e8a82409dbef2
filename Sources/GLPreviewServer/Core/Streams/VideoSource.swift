// A view as the source of video streams, with its encoding.

/// The shared source of several streams.
final class VideoSource: Sendable {
  let target: ServedPreview
  let preview: Preview
  let configuration: VideoConfiguration
  private let permit: AdmissionPermit?
  private let onEnd: (@Sendable () -> Void)?

  var isServed: Bool { preview === target.preview }

  init(
    _ target: ServedPreview, _ preview: Preview, _ configuration: VideoConfiguration,
    holding permit: AdmissionPermit?, onEnd: (@Sendable () -> Void)? = nil
  ) {
    self.target = target
    self.preview = preview
    self.configuration = configuration
    self.permit = permit
    self.onEnd = onEnd
  }

  deinit { onEnd?() }
}

/// A request for the video of a view: its parameters and encoding.
package struct VideoRequest: Sendable {
  let target: ServedPreview
  let wanted: ServedView
  let configuration: VideoConfiguration
  /// Whether a camera's original H.264 is passed through if the view shows it unchanged: with any profile,
  /// and with keyframes only where the camera has them.
  var passes = true

  init(
    _ target: ServedPreview, as wanted: ServedView, _ configuration: VideoConfiguration, passes: Bool = true
  ) {
    (self.target, self.wanted, self.configuration, self.passes) = (target, wanted, configuration, passes)
  }

  /// Creates a request for the view as it is served.
  package init(_ target: ServedPreview, passes: Bool = true) {
    self.init(target, as: target.served, target.served.video, passes: passes)
  }
}
