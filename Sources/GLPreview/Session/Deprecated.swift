// Names of 0.1, until 0.4.

@available(*, deprecated, renamed: "PreviewPictures")
public typealias PreviewFrames = PreviewPictures

extension ViewPreview {
  @available(*, deprecated, renamed: "pictures(for:subsampling:)")
  public func jpegs(subsampling: Picture.ChromaSubsampling = .yuv420) -> PreviewPictures {
    pictures(for: .jpeg, subsampling: subsampling)
  }
}

extension ScenePreview {
  @available(*, deprecated, renamed: "pictures(for:subsampling:)")
  public func jpegs(subsampling: Picture.ChromaSubsampling = .yuv420) -> PreviewPictures {
    pictures(for: .jpeg, subsampling: subsampling)
  }
}

extension PreviewSession {
  @available(*, deprecated, message: "use sources.map(\\.name)")
  public var sourceNames: [String] { sources.map(\.name) }

  @available(*, deprecated, message: "use session[name]?.size")
  public func size(of source: String? = nil) -> Size? { self.source(source)?.size }

  @available(*, deprecated, message: "use session[name]?.status")
  public func status(of source: String? = nil) async -> SourceStatus? { await self.source(source)?.status }

  @available(*, deprecated, message: "use session[name]?.failure")
  public func failure(of source: String? = nil) async -> (any Error)? { await self.source(source)?.failure }

  @available(*, deprecated, message: "use session[name]?.setEnabled(_:)")
  public func setSource(_ source: String? = nil, isOn: Bool) async {
    await self.source(source)?.setEnabled(isOn)
  }

  @available(*, deprecated, message: "use session[name]?.bufferedTimes")
  public func replay(of source: String? = nil) -> ClosedRange<WallTime>? {
    self.source(source)?.bufferedTimes
  }

  @available(*, deprecated, message: "use session[name]?.replayStatus")
  public func replayStatus(of source: String? = nil) -> ReplayStatus? { self.source(source)?.replayStatus }

  @available(*, deprecated, message: "use session[name]?.statistics")
  public func statistics(of source: String) -> Statistics? { self[source]?.statistics }

  /// The source of this name, or the first.
  private func source(_ name: String?) -> Source? { if let name { self[name] } else { sources.first } }
}
