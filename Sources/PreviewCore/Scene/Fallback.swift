// What is seen of a source that gives nothing: which picture for which reason.

/// Why a source gives nothing.
public enum FallbackReason: String, Sendable, Hashable, CaseIterable {
  /// Somebody switched it off.
  case off
  /// It is being opened, or opened again.
  case opening
  /// It is open, but no frame came for a while.
  case stalled
  /// It is gone, or can't be opened.
  case lost
}

/// What is known of a source that gives nothing.
public struct FallbackState: Sendable, Hashable {
  /// Why, for the program.
  public var reason: FallbackReason
  /// Why, for people, such as `no such device`; empty where there is no more to say than the reason.
  public var text: String
  /// Since when, in seconds since 1970.
  public var since: Double

  /// A state since `since`.
  public init(_ reason: FallbackReason, text: String = "", since: Double) {
    self.reason = reason
    self.text = text
    self.since = since
  }
}

/// A picture in place of a source's.
public enum FallbackPicture: Sendable, Hashable {
  /// Of who is not seen: in a circle, over its own blurred copy.
  case avatar(StillImage)
  /// Two colours, and what is missing.
  case gradient(LinearGradient = .dusk, icon: Icon? = nil)
  /// What was seen last, dimmed, with the reason. While there is none: a gradient with a camera where the source is being
  /// opened, else `noSignal`.
  case lastFrameDimmed
  /// Dim bars with NO SIGNAL, the reason, and since when.
  case noSignal
}

/// Which picture is shown for which reason.
public struct Fallback: Sendable, Hashable {
  /// Of a source that was switched off: a gradient with a struck-out camera, unless told.
  public var off: FallbackPicture
  /// Of one that is being opened: the last frame, unless told.
  public var opening: FallbackPicture
  /// Of one with no frame for a while: the last frame, unless told.
  public var stalled: FallbackPicture
  /// Of one that is gone: `noSignal`, unless told.
  public var lost: FallbackPicture

  /// The usual pictures, unless said otherwise.
  public init(
    off: FallbackPicture = .gradient(icon: .cameraOff), opening: FallbackPicture = .lastFrameDimmed,
    stalled: FallbackPicture = .lastFrameDimmed, lost: FallbackPicture = .noSignal
  ) {
    self.off = off
    self.opening = opening
    self.stalled = stalled
    self.lost = lost
  }

  /// One picture, whatever the reason.
  public init(always picture: FallbackPicture) {
    self.init(off: picture, opening: picture, stalled: picture, lost: picture)
  }

  /// The usual pictures of somebody: the avatar when off or lost, the last frame while it may come back soon.
  public init(avatar: StillImage) {
    self.init(off: .avatar(avatar), lost: .avatar(avatar))
  }

  /// The usual pictures.
  public static let standard = Fallback()

  /// What is shown, with what replaces a last frame that is not there.
  public func picture(for reason: FallbackReason, hasFrame: Bool) -> FallbackPicture {
    let picture =
      switch reason {
      case .off: off
      case .opening: opening
      case .stalled: stalled
      case .lost: lost
      }
    guard picture == .lastFrameDimmed, !hasFrame else { return picture }
    return reason == .opening ? .gradient(icon: .camera) : .noSignal
  }
}

extension LinearGradient {
  /// From slate to night, down to the right.
  public static let dusk = LinearGradient(
    from: RGBColor(red: 0x3b, green: 0x48, blue: 0x5c), to: RGBColor(red: 0x14, green: 0x18, blue: 0x22),
    angle: 135)
}
