// Which previews show a camera's own H.264, and why others do not.

extension PreviewConfiguration {
  /// Whether its videos may be the source's own H.264: it shows every picture of that, whole.
  var passesVideo: Bool { isEnabled && view?.isWhole == true && updateEvery == .zero }

  /// Why its videos are not the source's own H.264; nil if they may be while it is enabled.
  var videoRefusal: String? {
    guard let view else { return "a scene is composed of several pictures" }
    guard view.isWhole else { return "the view changes the picture: \(view.changes.joined(separator: ", "))" }
    return updateEvery == .zero ? nil : "the view limits the frame rate"
  }
}

extension ViewConfiguration {
  /// The settings that make a view not whole (`isWhole`).
  fileprivate var changes: [String] {
    [
      crop == nil ? nil : "crop", projection == nil ? nil : "projection", corners == nil ? nil : "corners",
      rotation == .none && angle == 0 ? nil : "rotate",
      mirroring == .none ? nil : "mirror",
      width == nil && height == nil ? nil : "size", filter == .mitchell ? "filter" : nil,
      labels.isEmpty ? nil : "labels",
    ].compactMap { $0 }
  }
}

extension VideoConfiguration {
  /// Whether a source's own H.264 will do, because all settings have their defaults.
  package var takesAnyVideo: Bool { self == VideoConfiguration() }
}

extension SessionSource {
  /// Why its H.264 is never passed through, whatever it sends; nil if it may be.
  var videoRefusal: String? {
    if !isLive { return "the source is a file or a pattern" }
    if !options.masks.isEmpty { return "the camera has masks" }
    if !options.showsVideo { return "the camera has colour settings" }
    return warmup == .none ? nil : "the camera has a warmup"
  }
}

extension Preview {
  /// Why videos of a configuration are encoded, although a camera may send H.264 itself: the first reason
  /// that is found. Nil if the camera's own is passed through, or will be as soon as possible. `mode` is the
  /// camera's current mode, if that is known.
  package func videoRefusal(
    _ configuration: VideoConfiguration, from mode: SourceStatus.Mode?
  ) -> String? {
    if let refusal = self.configuration.videoRefusal { return refusal }
    if !configuration.takesAnyVideo { return "the video settings require encoding" }
    if let refusal = (producer as? SourceFeed)?.source.videoRefusal { return refusal }
    guard let mode else { return nil }
    if let refusal = mode.videoRefusal { return "the camera's H.264 can't be passed through: \(refusal)" }
    return mode.format == "h264" ? nil : "the camera sends \(mode.format), not H.264 over a network stream"
  }
}
