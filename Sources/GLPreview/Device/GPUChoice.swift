// Which GPU a user wants: the words of `--gpu`.

/// What to choose from `GPUDevice.list()`.
public enum GPUChoice: Sendable, Hashable, LosslessStringConvertible {
  /// The first hardware that works, else software. The word is "auto".
  case automatic
  /// The CPU. The word is "software".
  case software
  /// A device by its place in the list, from 0. The word is the number.
  case index(Int)
  /// A device by its file. The word is a path, such as /dev/dri/renderD128.
  case node(String)

  /// Reads `auto`, `software`, a number, or a path that begins with "/"; anything else is nil.
  public init?(_ text: String) {
    if text == "auto" {
      self = .automatic
    } else if text == "software" {
      self = .software
    } else if text.hasPrefix("/") {
      self = .node(text)
    } else if let index = Int(text), index >= 0 {
      self = .index(index)
    } else {
      return nil
    }
  }

  /// The word that `init(_:)` reads.
  public var description: String {
    switch self {
    case .automatic: "auto"
    case .software: "software"
    case .index(let index): String(index)
    case .node(let path): path
    }
  }
}
