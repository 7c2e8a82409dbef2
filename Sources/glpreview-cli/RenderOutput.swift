// Where pictures go: files by a pattern, standard output, or nowhere.
import GLPreview

/// What `-o` says.
enum RenderOutput: Equatable {
  case files(FileNamePattern, EncodedFormat)
  case standardOutput(EncodedFormat)
  /// Rendered and read back, encoded where a format is named, and then dropped.
  case nowhere(EncodedFormat?)

  /// Reads `-o`; nil is the source's name with the view's.
  init(_ text: String?, source: String, format: EncodedFormat?) throws {
    switch text {
    case nil:
      let format = format ?? .jpeg
      self = .files(FileNamePattern(stem: RenderOutput.stem(of: source), format), format)
    case "-": self = .standardOutput(format ?? .jpeg)
    case "null:": self = .nowhere(nil)
    case "null:jpg", "null:jpeg": self = .nowhere(.jpeg)
    case "null:png": self = .nowhere(.png)
    case let text?:
      guard !text.hasPrefix("null:") else {
        throw UsageError("-o \(text) is none of null:, null:jpg, null:png")
      }
      guard !text.isEmpty else { throw UsageError("-o '' names no file") }
      if let format, let named = EncodedFormat(fileName: text), named != format {
        throw UsageError("-o \(text) says \(named.rawValue), --format says \(format.rawValue)")
      }
      guard let format = EncodedFormat(fileName: text) ?? format else {
        throw UsageError("-o \(text): the name ends in none of .jpg, .jpeg, .png (or say --format)")
      }
      self = .files(try FileNamePattern(text), format)
    }
  }

  /// What pictures are encoded as; nil where they are not.
  var format: EncodedFormat? {
    switch self {
    case .files(_, let format), .standardOutput(let format): format
    case .nowhere(let format): format
    }
  }

  /// What a picture is called; nil where pictures go nowhere.
  func name(view: String, frame: Int) -> String? {
    switch self {
    case .files(let pattern, _): pattern.name(view: view, frame: frame)
    case .standardOutput: "-"
    case .nowhere: nil
    }
  }

  /// Refuses views that would go into one file.
  func check(_ views: [ViewConfiguration]) throws {
    guard views.count > 1 else { return }
    switch self {
    case .files(let pattern, _) where !pattern.hasView:
      throw UsageError("\(views.count) views would go into one file; put {view} into its name")
    case .standardOutput: throw UsageError("standard output takes one view, not \(views.count)")
    default: break
    }
  }

  /// Whether each frame's pictures would replace those of the frame before.
  var keepsOneFrame: Bool {
    if case .files(let pattern, _) = self { !pattern.hasFrame } else { false }
  }

  /// `street.tar` for `/somewhere/street.tar.jpg`, `video0` for `/dev/video0,size=640x480`, `cam` for
  /// `http://host/cam?user=me`; standard input, commands and patterns have names of their own.
  private static func stem(of source: String) -> String {
    if source == "-" { return "stdin" }
    if source.hasPrefix("pattern:") { return String(source.dropFirst(8).prefix { $0 != "," }) }
    if source.hasPrefix("exec:") { return "exec" }
    let address = source.hasPrefix("/dev/") ? source.prefix { $0 != "," } : source[...]
    let path = source.contains("://") ? address.prefix { $0 != "?" && $0 != "#" } : address
    // What stands before a host may be a password.
    let name = path.split(separator: "/").last?.split(separator: "@").last ?? "picture"
    guard !source.contains("://") || path.split(separator: "/").count > 2 else { return "stream" }
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return String(name) }
    return String(name[..<dot])
  }
}
