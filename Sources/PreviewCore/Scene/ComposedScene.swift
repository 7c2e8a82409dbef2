// What a scene comes to: layers, and the frames that they want.

/// A picture that stays: an avatar, say. Two are equal where they are the same object, so that its texture is kept.
public final class StillImage: Sendable, Hashable {
  /// Its samples.
  public let frame: Frame

  /// A frame that stays.
  public init(_ frame: Frame) { self.frame = frame }

  /// Whether they are the same object.
  public static func == (one: StillImage, other: StillImage) -> Bool { one === other }

  /// By identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Which frame a layer shows. Whoever draws looks it up.
package enum FrameReference: Sendable, Hashable {
  /// The newest of a source that was there `delay` ago; the oldest that is kept where none was.
  case source(String, delay: Duration = .zero)
  /// One that stays.
  case image(StillImage)
}

/// Layers, and the frames that they show.
package struct ComposedScene: Sendable, Hashable {
  /// The `input` of its layers' contents counts from 0 in `inputs`.
  package let composition: Composition
  /// Each once, in the order in which they are first seen.
  package let inputs: [FrameReference]

  /// Layers, and the frames that they show.
  package init(composition: Composition, inputs: [FrameReference]) {
    self.composition = composition
    self.inputs = inputs
  }
}

extension ComposedScene {
  /// The same with other views: `change` is given each, and the number of the input that it is a view of.
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

/// What is known of a source when a scene is composed.
package struct SourceAppearance: Sendable, Hashable {
  /// Whether there is a frame of it, however old.
  package var hasFrame: Bool
  /// Why it gives nothing; nil while it is live. A live source with no frame yet is being opened.
  package var fallback: FallbackState?
  /// Its pictures for that, unless the tile has some.
  package var pictures: Fallback
  /// When its newest frame was captured, in seconds since 1970; nil where that is not known.
  package var capturedAt: Double?

  /// A source.
  package init(
    hasFrame: Bool, fallback: FallbackState? = nil, pictures: Fallback = .standard, capturedAt: Double? = nil
  ) {
    self.hasFrame = hasFrame
    self.fallback = fallback
    self.pictures = pictures
    self.capturedAt = capturedAt
  }

  /// A source that gives frames.
  package static let live = SourceAppearance(hasFrame: true)
}
