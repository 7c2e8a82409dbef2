// The user's choice among the devices of a machine.

extension GPUDevice {
  /// A choice among `GPUDevice.list()`.
  public enum Choice: Sendable, Hashable, LosslessStringConvertible {
    /// The first working hardware, otherwise the CPU. Text: "auto".
    case automatic
    /// The first working hardware. Text: "hardware".
    case hardware
    /// The CPU's vector instructions, without OpenGL. Text: "cpu".
    case cpu
    /// OpenGL in software, by Mesa's llvmpipe or its like. Text: "llvmpipe".
    case llvmpipe
    /// A device by its index in the list, from 0. Text: the number.
    case index(Int)
    /// A device by its file. Text: a path, such as /dev/dri/renderD128.
    case node(String)

    /// The CPU: the name of `.cpu` before version 0.3, when OpenGL drew in software. Text: "software".
    public static let software = Choice.cpu

    /// Parses `auto`, `hardware`, `cpu`, `software`, `llvmpipe`, a number, or a path that begins with "/"; nil for any
    /// other text.
    public init?(_ text: String) {
      switch text {
      case "auto": self = .automatic
      case "hardware": self = .hardware
      case "cpu", "software": self = .cpu
      case "llvmpipe": self = .llvmpipe
      case _ where text.hasPrefix("/"): self = .node(text)
      default:
        guard let index = Int(text), index >= 0 else { return nil }
        self = .index(index)
      }
    }

    /// The text that `init(_:)` parses.
    public var description: String {
      switch self {
      case .automatic: "auto"
      case .hardware: "hardware"
      case .cpu: "cpu"
      case .llvmpipe: "llvmpipe"
      case .index(let index): String(index)
      case .node(let path): path
      }
    }
  }
}
