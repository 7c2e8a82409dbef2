// A scene turned into layers, and the frames that they show.

/// A still picture, such as an avatar. Compared by identity, so that its texture is kept.
public final class StillImage: Sendable, Hashable {
  /// The picture.
  public let frame: Frame

  /// Creates an image that shows `frame`.
  public init(_ frame: Frame) { self.frame = frame }

  /// Whether both are the same object.
  public static func == (one: StillImage, other: StillImage) -> Bool { one === other }

  /// Hashes the object's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The frame that a layer shows; the renderer's caller looks it up.
package enum FrameReference: Sendable, Hashable {
  /// The newest frame of a source that existed `delay` ago; if none did, the oldest kept.
  case source(String, delay: Duration = .zero)
  /// A still picture.
  case image(StillImage)
}

package struct ComposedScene: Sendable, Hashable {
  /// The layers; the `input` of their contents is an index into `inputs`.
  package let composition: Composition
  /// The frames, without duplicates, in order of first use.
  package let inputs: [FrameReference]

  package init(composition: Composition, inputs: [FrameReference]) {
    self.composition = composition
    self.inputs = inputs
  }
}

extension ComposedScene {
  /// The same scene with changed views; `change` receives each view and its input's index.
  package func mapViews<Failure: Error>(
    _ change: (ViewConfiguration, Int) throws(Failure) -> ViewConfiguration
  ) throws(Failure) -> ComposedScene {
    var composition = composition
    for index in composition.layers.indices {
      switch composition.layers[index].content {
      case .view(let input, let view):
        composition.layers[index].content = .view(input: input, try change(view, input))
      case .blurred(let input, let view, let blur):
        composition.layers[index].content = .blurred(input: input, try change(view, input), blur)
      case .color, .gradient, .bitmap: break
      }
    }
    return ComposedScene(composition: composition, inputs: inputs)
  }
}

/// The state of a source when a scene is composed.
package struct SourceAppearance: Sendable, Hashable {
  /// Whether there is any frame of it, however old.
  package var hasFrame: Bool
  /// Why it delivers no frames; nil while it is live. A live source without a frame is being opened.
  package var outage: Outage?
  /// The fallback pictures for this state, unless the tile has its own.
  package var pictures: Fallback
  /// The capture time of its newest frame, in seconds since 1970; nil if unknown.
  package var capturedAt: Double?

  package init(
    hasFrame: Bool, outage: Outage? = nil, pictures: Fallback = .standard, capturedAt: Double? = nil
  ) {
    self.hasFrame = hasFrame
    self.outage = outage
    self.pictures = pictures
    self.capturedAt = capturedAt
  }

  /// A source that delivers frames.
  package static let live = SourceAppearance(hasFrame: true)
}
