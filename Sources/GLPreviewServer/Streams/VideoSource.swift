// A view that streams show, and what its encoder is asked for.
internal import GLPreview

/// What several streams show.
final class VideoSource: Sendable {
  let target: ServedPreview
  let preview: Preview
  let configuration: VideoConfiguration
  /// Of a rung below: what it is made from.
  let base: PreviewConfiguration?
  private let permit: AdmissionPermit?
  private let onEnd: (@Sendable () -> Void)?

  var isServed: Bool { preview === target.preview }

  init(
    _ target: ServedPreview, _ preview: Preview, _ configuration: VideoConfiguration,
    holding permit: AdmissionPermit?, base: PreviewConfiguration? = nil, onEnd: (@Sendable () -> Void)? = nil
  ) {
    self.base = base
    self.target = target
    self.preview = preview
    self.configuration = configuration
    self.permit = permit
    self.onEnd = onEnd
  }

  deinit { onEnd?() }
}
