// A preview of several sources in one picture, for the program that shows it.

/// A preview of a scene in a running session. Changes take effect with the next picture.
///
/// ```swift
/// let tiles = [Tile("ann"), Tile("bob")]
/// let call = try session.addScene(Scene(size: Size(width: 1280, height: 720), tiles: tiles))
/// call.scene.tiles.append(Tile("eve"))
/// ```
public struct ScenePreview: Sendable, Hashable {
  package let preview: Preview

  init(_ preview: Preview) { self.preview = preview }

  /// The name, unique in its session.
  public var name: String { preview.name }

  /// The sources in the picture, and where they are.
  public var scene: Scene {
    get { preview.configuration.scene ?? Scene(size: Size(width: 1, height: 1), tiles: []) }
    nonmutating set { update { $0 = newValue } }
  }

  /// Changes several properties of the scene at once: no picture shows only some of the changes. `change`
  /// must not use the preview.
  public func update(_ change: (inout Scene) -> Void) {
    preview.update { configuration in
      guard var scene = configuration.scene else { return }
      change(&scene)
      configuration.scene = scene
    }
  }

  /// Whether it delivers pictures. A disabled preview costs nothing, and its readers wait.
  public var isEnabled: Bool {
    get { preview.isEnabled }
    nonmutating set { preview.isEnabled = newValue }
  }

  /// The minimum time between two pictures; zero, the default, delivers at most 30 a second.
  public var updateEvery: Duration {
    get { preview.configuration.updateEvery }
    nonmutating set { preview.update { $0.updateEvery = newValue } }
  }

  /// The pictures as R, G, B, A. Each is the newest at the time of the request: a slow reader skips pictures
  /// and delays no other reader.
  ///
  /// The loop ends when the preview is removed or the session is closed. It throws if the scene can't be
  /// drawn (`ParameterError`, `SessionError`), and without a GPU. A source that fails does not end it: its tile
  /// shows a fallback.
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
  /// The loop ends, and throws, as that of `pictures` does; it also throws `VideoError` if there is no
  /// encoder, or none that works.
  public func video(_ configuration: VideoConfiguration = VideoConfiguration()) -> VideoSequence {
    preview.video(configuration)
  }
}
