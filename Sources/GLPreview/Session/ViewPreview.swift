// A preview of one source, for the program that shows it.

/// A preview of one source in a running session. Changes take effect with the next picture.
///
/// ```swift
/// let preview = try session.addPreview(ViewConfiguration(width: 640, height: 360))
/// for try await picture in preview.pictures(for: .jpeg) { show(try await picture.jpeg().bytes) }
/// ```
public struct ViewPreview: Sendable, Hashable {
  package let preview: Preview

  init(_ preview: Preview) { self.preview = preview }

  /// The name, unique in its session.
  public var name: String { preview.name }

  /// The name of the source.
  public var source: String { preview.sourceName ?? "" }

  /// The view of the source; its name stays the preview's. While the view moves, it is that at the end of the move.
  public var view: ViewConfiguration {
    get { preview.configuration.view ?? ViewConfiguration(name: name) }
    nonmutating set { update { $0 = newValue } }
  }

  /// Changes several properties of the view at once: no picture shows only some of the changes. `change` must
  /// not use the preview.
  public func update(_ change: (inout ViewConfiguration) -> Void) {
    preview.update { configuration in
      guard var view = configuration.view else { return }
      change(&view)
      configuration.view = view
    }
  }

  /// Moves a view with a `projection`: evenly, from where it is now. A frame that is captured meanwhile is drawn
  /// with the pose of its capture, for all readers, which keep their encoders. Yaw and roll go the shorter way round.
  /// Another move that is under way ends. A change of what `view` shows ends a move too, at its target.
  ///
  /// A view without `width` and `height` changes its size with its field of view.
  ///
  /// - Parameters:
  ///   - pose: what the view looks at in the end.
  ///   - duration: how long it takes. Without it, the view is there at once.
  /// - Throws: `ParameterError` if the view has no projection, if a number is out of bounds, or if the camera must
  ///   give a frame first, because the field of view is not known.
  public func move(to pose: LensPose, over duration: Duration = .zero) throws(ParameterError) {
    _ = try preview.move(to: pose, over: duration)
  }

  /// The present pose of a view with a `projection`; nil for others.
  public var pose: LensPose? { preview.configuration.view(at: .now)?.projection?.pose }

  /// Replaces the view and everything else at once: no picture shows only some of the changes. Moves are forgotten
  /// without `keepsMoves`, or if the view shows another part.
  package func show(
    _ view: ViewConfiguration, isEnabled: Bool, keepsReferenceSize: Bool, takesReduced: Bool,
    updateEvery: Duration, keepsMoves: Bool = true
  ) {
    preview.update { configuration in
      configuration.view = view
      if !keepsMoves { configuration.path = ViewPath() }
      configuration.isEnabled = isEnabled
      configuration.keepsReferenceSize = keepsReferenceSize
      configuration.takesReduced = takesReduced
      configuration.updateEvery = updateEvery
    }
  }

  /// The part of the upright source that is shown, in its pixels; nil for all of it.
  public var crop: Rectangle? {
    get { view.crop }
    nonmutating set { update { $0.crop = newValue } }
  }

  /// The clockwise rotation.
  public var rotation: Rotation {
    get { view.rotation }
    nonmutating set { update { $0.rotation = newValue } }
  }

  /// The mirroring, after the rotation.
  public var mirroring: Mirroring {
    get { view.mirroring }
    nonmutating set { update { $0.mirroring = newValue } }
  }

  /// How a source of another aspect ratio is fitted.
  public var contentMode: ContentMode {
    get { view.contentMode }
    nonmutating set { update { $0.contentMode = newValue } }
  }

  /// The size of pictures, in pixels; nil follows the source.
  public var preferredSize: Size? {
    get { preview.configuration.preferredSize }
    nonmutating set { preview.update { $0.preferredSize = newValue } }
  }

  /// Whether a camera is set to its reference size (`SourceOptions.referenceSize`) while the preview exists,
  /// read or not. It always is if the preview has a crop, or the camera has masks. The default is false.
  public var keepsReferenceSize: Bool {
    get { preview.configuration.keepsReferenceSize }
    nonmutating set { preview.update { $0.keepsReferenceSize = newValue } }
  }

  /// Whether it delivers pictures. A disabled preview costs nothing, and its readers wait.
  public var isEnabled: Bool {
    get { preview.isEnabled }
    nonmutating set { preview.isEnabled = newValue }
  }

  /// The minimum time between two pictures; zero, the default, delivers every frame.
  public var updateEvery: Duration {
    get { preview.configuration.updateEvery }
    nonmutating set { preview.update { $0.updateEvery = newValue } }
  }

  /// The pictures as R, G, B, A. Each is the newest at the time of the request: a slow reader skips pictures
  /// and delays no other reader.
  ///
  /// The loop ends when the preview is removed, the session is closed, or the source is at its end. It throws
  /// if the configuration can't be drawn (`ParameterError`, `SessionError`), if the source can't be opened or is
  /// no longer reconnected (`SourceError`), and without a GPU. A frame that can't be read does not end it: a
  /// fallback shows why.
  public var pictures: PreviewPictures { preview.pictures }

  /// Returns the pictures in the sample format that this file format is encoded from without a conversion: for
  /// JPEGs Y'CbCr planes with `subsampling`, for `RenderedPicture.jpeg()`; for PNGs R, G, B, A.
  public func pictures(
    for format: EncodedPicture.Format, subsampling: Picture.ChromaSubsampling = .yuv420
  ) -> PreviewPictures {
    preview.pictures(for: format, subsampling: subsampling)
  }

  /// The pictures as H.264, for browsers, files and connections.
  ///
  /// Readers of a preview with equal configurations share one encoder. It runs while there are readers, and
  /// is closed five seconds after the last one leaves. A reader begins with a keyframe. A reader that has
  /// half a second of unread pictures loses them, and goes on with the next keyframe. While more than half of
  /// the readers lose pictures, the bit rate is lowered, to a quarter at the lowest. While no new picture
  /// arrives (a still, a fallback), the last one is repeated once a second. A change of the size begins a new
  /// stream: `VideoSample.format` differs.
  ///
  /// A network camera's own H.264 is passed through, with nothing decoded, drawn or encoded, if the preview
  /// shows the camera's whole picture, `updateEvery` is zero, `configuration` has its defaults, and the
  /// source has no masks, warm-up or colour settings. `H264Format.encoder` is then nil, the profile is the
  /// camera's, and keyframes come as often as the camera sends them. Set `VideoConfiguration.encoder` to
  /// always encode.
  ///
  /// The loop ends, and throws, as that of `pictures` does; it also throws `VideoError` if there is no
  /// encoder, or none that works.
  public func video(_ configuration: VideoConfiguration = VideoConfiguration()) -> VideoSequence {
    preview.video(configuration)
  }
}
