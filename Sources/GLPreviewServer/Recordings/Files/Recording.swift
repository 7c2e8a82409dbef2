// A recorded file, as reported to clients.

struct Recording: Sendable, Hashable {
  let camera: String
  let view: String
  let name: StampedFileName
  /// Whether it is being recorded.
  var isOpen = false
  /// Nil while it is being recorded, and until the file was read.
  var duration: Duration?
  var bytes: Int
  /// Its description of itself; empty if that is unknown.
  var note = RecordingNote()
  /// The time of the first picture, which names have to the millisecond only; nil if it is unknown.
  var firstPicture: WallTime?

  /// A file of an earlier run that was not read yet.
  init(_ name: StampedFileName, bytes: Int) {
    (self.name, self.bytes) = (name, bytes)
    (camera, view) = (name.camera.percentDecoded, String(name.view).percentDecoded)
  }

  /// A new file.
  init(
    beginning name: StampedFileName, _ camera: String, _ view: String,
    _ note: RecordingNote = RecordingNote(), firstPicture: WallTime? = nil
  ) {
    (self.name, self.camera, self.view, bytes, isOpen) = (name, camera, view, 0, true)
    (self.note, self.firstPicture) = (note, firstPicture)
  }

  /// The recording if it has ended and nothing of it could be written.
  var lost: Self {
    var recording = self
    (recording.isOpen, recording.duration) = (false, .zero)
    return recording
  }

  /// Whether the file must be read before it can be reported.
  var isUnknown: Bool { !isOpen && duration == nil }

  var start: WallTime { name.time ?? WallTime(sinceEpoch: .zero) }

  /// The path of its URL.
  var path: String { "/recordings/\(name.camera)/\(name.file)".replacing("%", with: "%25") }

  /// The end of the time that it shows; nil if unknown.
  var end: WallTime? { duration.map { WallTime(sinceEpoch: start.sinceEpoch + $0) } }

  /// The JSON for clients.
  struct Answer: Codable, Sendable {
    let camera: String
    let view: String
    let start: String
    /// In seconds.
    let duration: Double?
    let bytes: Int
    let url: String
    let recording: Bool
    /// `control` if the file needs that role; nil if the role `read` may have it.
    var file: String?
    /// The node that has it, if there are several nodes.
    var node: String?
  }

  static let schema = JSONSchema.named(
    "Recording",
    .object([
      .init("camera", .text), .init("view", .text), .init("start", .time),
      .optional("duration", .number, "in seconds; missing until it is known"), .init("bytes", .integer),
      .init("url", .path),
      .init("recording", .boolean, "whether it is still being recorded"),
      .optional(
        "file", .choice(["control"]),
        "the role that the file needs; missing if the role `read` may have it, and not only pictures of it"),
      .optional("node", .text),
    ]))

  var answer: Answer {
    Answer(
      camera: camera, view: view, start: start.description, duration: duration.map { $0 / .seconds(1) },
      bytes: bytes, url: path, recording: isOpen)
  }
}

extension Recording {
  /// Identifies what a locked view shows, by a short name that only equal views have. The view of a projection has
  /// its camera's lens, which changes what it shows.
  struct LockedView: Sendable, Hashable {
    /// The notes of earlier versions.
    private static let prefix = Array("glpreview locked ".utf8)
    /// The name.
    let text: String

    init(_ view: ViewConfiguration) { text = Digest.name(of: Array(Self.description(of: view).utf8)) }

    /// Returns a text that only equal views have. Views without a lens and a warp have that of earlier versions, so
    /// that their recordings are still known.
    static func description(of view: ViewConfiguration) -> String {
      var values: [(String, Any)] = [
        ("name", view.name), ("crop", view.crop as Any), ("rotation", view.rotation),
        ("mirroring", view.mirroring), ("width", view.width as Any), ("height", view.height as Any),
        ("contentMode", view.contentMode), ("background", view.background), ("surround", view.surround),
        ("filter", view.filter), ("light", view.light), ("labels", view.labels),
      ]
      if view.lens != nil || view.isWarped {
        values += [
          ("lens", view.lens as Any), ("projection", view.projection as Any), ("angle", view.angle),
          ("corners", view.corners as Any),
        ]
      }
      let texts = values.map { "\($0.0): \(String(reflecting: $0.1))" }
      return "ViewConfiguration(\(texts.joined(separator: ", ")))"
    }

    init(text: String) { self.text = text }

    /// Reads a note of an earlier version; nil for any other.
    init?(earlierNote note: [UInt8]) {
      guard note.starts(with: Self.prefix) else { return nil }
      text = String(decoding: note.dropFirst(Self.prefix.count), as: UTF8.self)
    }
  }

  /// Whether every client with the role `read` may see it, now that its view is served as `view`, of a camera with
  /// this lens; nil for a view that is no longer served.
  ///
  /// Recordings from before a view was switched off, removed, or locked to something else show what is hidden
  /// now.
  func isShown(by view: ServedView?, through lens: Lens?) -> Bool {
    guard let view, view.isEnabled else { return false }
    return !view.isLocked || note.locked == LockedView(view.view.withLens(lens))
  }
}

extension ServiceEvents {
  /// Publishes that a recording has begun or ended.
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
