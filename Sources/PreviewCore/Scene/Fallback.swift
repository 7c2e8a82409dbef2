// The pictures shown in place of a source that delivers no frames, by its state.

/// The picture to show in each state.
public struct Fallback: Sendable, Hashable {
  /// While switched off. Default: a gradient with a struck-out camera.
  public var off: Picture
  /// While being opened. Default: the last frame.
  public var opening: Picture
  /// While stalled. Default: the last frame.
  public var stalled: Picture
  /// While lost. Default: `noSignal`.
  public var lost: Picture

  /// Creates a set of pictures.
  public init(
    off: Picture = .gradient(icon: .cameraOff), opening: Picture = .lastFrameDimmed,
    stalled: Picture = .lastFrameDimmed, lost: Picture = .noSignal
  ) {
    self.off = off
    self.opening = opening
    self.stalled = stalled
    self.lost = lost
  }

  /// Shows one picture in every state.
  public init(always picture: Picture) {
    self.init(off: picture, opening: picture, stalled: picture, lost: picture)
  }

  /// Shows the avatar while off or lost, and the last frame while opening or stalled.
  public init(avatar: StillImage) {
    self.init(off: .avatar(avatar), lost: .avatar(avatar))
  }

  package static let standard = Fallback()

  /// Returns the picture to show in a state. Without a frame, `lastFrameDimmed` becomes a gradient with a
  /// camera while the source is being opened, otherwise `noSignal`. A live source whose frames can't be shown
  /// counts as stalled.
  package func picture(for state: SourceState, hasFrame: Bool) -> Picture {
    let isOpening = state == .opening || state == .idle
    let picture =
      switch state {
      case .off: off
      case .idle, .opening: opening
      case .live, .stalled: stalled
      case .lost: lost
      }
    guard picture == .lastFrameDimmed, !hasFrame else { return picture }
    return isOpening ? .gradient(icon: .camera) : .noSignal
  }
}

extension Fallback {
  /// A picture shown in place of a source's.
  public enum Picture: Sendable, Hashable {
    /// An avatar in a circle, over a blurred copy of itself.
    case avatar(StillImage)
    /// A gradient, with an optional icon for what is missing.
    case gradient(LinearGradient = .dusk, icon: Icon? = nil)
    /// The last frame, dimmed, with the reason. If there is none: a gradient with a camera icon while the
    /// source is being opened, otherwise `noSignal`.
    case lastFrameDimmed
    /// Dim bars with NO SIGNAL, the reason and the time since.
    case noSignal
  }
}

extension LinearGradient {
  /// Slate to dark blue, towards the bottom right.
  public static let dusk = LinearGradient(
    from: RGBColor(red: 0x3b, green: 0x48, blue: 0x5c), to: RGBColor(red: 0x14, green: 0x18, blue: 0x22),
    angle: 135)
}
