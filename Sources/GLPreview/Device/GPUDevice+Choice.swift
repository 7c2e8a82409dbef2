// The user's choice of a GPU: the values of `--gpu`.

extension GPUDevice {
  /// A choice among `GPUDevice.list()`.
  public enum Choice: Sendable, Hashable, LosslessStringConvertible {
    /// The first working hardware, otherwise software. Text: "auto".
    case automatic
    /// The CPU. Text: "software".
    case software
    /// A device by its index in the list, from 0. Text: the number.
    case index(Int)
    /// A device by its file. Text: a path, such as /dev/dri/renderD128.
    case node(String)

    /// Parses `auto`, `software`, a number, or a path that begins with "/"; nil for any other text.
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

    /// The text that `init(_:)` parses.
    public var description: String {
      switch self {
      case .automatic: "auto"
      case .software: "software"
      case .index(let index): String(index)
      case .node(let path): path
      }
    }
  }
}
