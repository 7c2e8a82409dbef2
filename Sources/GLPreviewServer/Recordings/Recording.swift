// A recorded file, as clients are told of it.

struct Recording: Sendable, Hashable {
  let camera: String
  let view: String
  let name: StampedFileName
  /// Whether it is being recorded.
  var isOpen = false
  /// Nil while it is being recorded, and while it is not known.
  var duration: Duration?
  var bytes: Int
  /// What the view showed if it was locked; nil if it was not, or that is not known.
  var locked: LockedView?

  /// A file of an earlier run, of which nobody has read anything yet.
  init(_ name: StampedFileName, bytes: Int) {
    (self.name, self.bytes) = (name, bytes)
    (camera, view) = (name.camera.percentDecoded, String(name.view).percentDecoded)
  }

  /// A new file.
  init(beginning name: StampedFileName, _ camera: String, _ view: String, locked: LockedView? = nil) {
    (self.name, self.camera, self.view, bytes, isOpen) = (name, camera, view, 0, true)
    self.locked = locked
  }

  /// It has ended, and nothing of it could be written.
  var lost: Self {
    var recording = self
    (recording.isOpen, recording.duration) = (false, .zero)
    return recording
  }

  /// Whether the file has to be read before anything is said of it.
  var isUnknown: Bool { !isOpen && duration == nil }

  var start: WallTime { name.time ?? WallTime(sinceEpoch: .zero) }

  /// The path of its URL.
  var path: String { "/recordings/\(name.camera)/\(name.file)".replacing("%", with: "%25") }

  /// The last moment that it shows, as far as that is known.
  var end: WallTime? { duration.map { WallTime(sinceEpoch: start.sinceEpoch + $0) } }

  /// As clients get it.
  struct Answer: Codable, Sendable {
    let camera: String
    let view: String
    let start: String
    /// In seconds.
    let duration: Double?
    let bytes: Int
    let url: String
    let recording: Bool
    /// The node that has it, where there are several.
    var node: String?
  }

  static let schema = JSONSchema.named(
    "Recording",
    .object([
      .init("camera", .text), .init("view", .text), .init("start", .time),
      .optional("duration", .number, "in seconds, once it is known"), .init("bytes", .integer),
      .init("url", .path),
      .init("recording", .boolean, "whether it goes on"), .optional("node", .text),
    ]))

  var answer: Answer {
    Answer(
      camera: camera, view: view, start: start.description, duration: duration.map { $0 / .seconds(1) },
      bytes: bytes, url: path, recording: isOpen)
  }
}

extension Recording {
  /// What a locked view shows, as a short name that only equal views have.
  struct LockedView: Sendable, Hashable {
    private static let prefix = Array("glpreview locked ".utf8)
    private let name: [UInt8]

    init(_ view: ViewConfiguration) { name = Array(Digest.name(of: Array("\(view)".utf8)).utf8) }

    /// Nil for another note.
    init?(note: [UInt8]) {
      guard note.starts(with: Self.prefix) else { return nil }
      name = Array(note.dropFirst(Self.prefix.count))
    }

    /// As a file has it.
    var note: [UInt8] { Self.prefix + name }
  }

  /// Whether everybody who may look may see it, now that its view is served so; nil for a view that is not served any more.
  ///
  /// What was recorded before a view was switched off, removed, or locked to something else, shows what is hidden now.
  func isShown(by view: ServedView?) -> Bool {
    guard let view, view.isEnabled else { return false }
    return !view.isLocked || locked == LockedView(view.view)
  }
}

extension ServiceEvents {
  /// A recording began, or has ended.
  func recorded(_ recording: Recording) {
    publish(
      "recording",
      [
        "camera": .string(recording.camera), "view": .string(recording.view),
        "what": .string(recording.isOpen ? "began" : "ended"),
        "timestamp": .string(recording.start.description),
        "duration": recording.duration.map { .number($0 / .seconds(1)) },
        "bytes": .integer(recording.bytes), "url": .string(recording.path),
      ])
  }
}
