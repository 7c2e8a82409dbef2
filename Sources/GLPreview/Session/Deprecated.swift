// Names of 0.1, until 0.4.

/// Deprecated: use `ParameterError`.
@available(*, deprecated, renamed: "ParameterError")
public typealias WordError = ParameterError

/// Deprecated: use `NotBuffered`.
@available(*, deprecated, renamed: "NotBuffered")
public typealias NotKept = NotBuffered

extension NotBuffered {
  /// Deprecated: use `buffered`.
  @available(*, deprecated, renamed: "buffered")
  public var kept: ClosedRange<WallTime>? { buffered }
}

/// Deprecated: use `PreviewPictures`.
@available(*, deprecated, renamed: "PreviewPictures")
public typealias PreviewFrames = PreviewPictures

extension ViewPreview {
  /// Deprecated: use `pictures(for:subsampling:)`.
  @available(*, deprecated, renamed: "pictures(for:subsampling:)")
  public func jpegs(subsampling: Picture.ChromaSubsampling = .yuv420) -> PreviewPictures {
    pictures(for: .jpeg, subsampling: subsampling)
  }
}

extension ScenePreview {
  /// Deprecated: use `pictures(for:subsampling:)`.
  @available(*, deprecated, renamed: "pictures(for:subsampling:)")
  public func jpegs(subsampling: Picture.ChromaSubsampling = .yuv420) -> PreviewPictures {
    pictures(for: .jpeg, subsampling: subsampling)
  }
}

extension PreviewSession {
  /// Deprecated: use `sources.map(\.name)`.
  @available(*, deprecated, message: "use sources.map(\\.name)")
  public var sourceNames: [String] { sources.map(\.name) }

  /// Deprecated: use `session[name]?.size`.
  @available(*, deprecated, message: "use session[name]?.size")
  public func size(of source: String? = nil) -> Size? { self.source(source)?.size }

  /// Deprecated: use `session[name]?.status`.
  @available(*, deprecated, message: "use session[name]?.status")
  public func status(of source: String? = nil) async -> SourceStatus? { await self.source(source)?.status }

  /// Deprecated: use `session[name]?.failure`.
  @available(*, deprecated, message: "use session[name]?.failure")
  public func failure(of source: String? = nil) async -> (any Error)? { await self.source(source)?.failure }

  /// Deprecated: use `session[name]?.setEnabled(_:)`.
  @available(*, deprecated, message: "use session[name]?.setEnabled(_:)")
  public func setSource(_ source: String? = nil, isOn: Bool) async {
    await self.source(source)?.setEnabled(isOn)
  }

  /// Deprecated: use `session[name]?.bufferedTimes`.
  @available(*, deprecated, message: "use session[name]?.bufferedTimes")
  public func replay(of source: String? = nil) -> ClosedRange<WallTime>? {
    self.source(source)?.bufferedTimes
  }

  /// Deprecated: use `session[name]?.replayStatus`.
  @available(*, deprecated, message: "use session[name]?.replayStatus")
  public func replayStatus(of source: String? = nil) -> ReplayStatus? { self.source(source)?.replayStatus }

  /// Deprecated: use `session[name]?.statistics`.
  @available(*, deprecated, message: "use session[name]?.statistics")
  public func statistics(of source: String) -> Statistics? { self[source]?.statistics }

  /// The source of this name, or the first.
  private func source(_ name: String?) -> Source? { if let name { self[name] } else { sources.first } }
}
