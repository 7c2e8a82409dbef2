// A recorded file, as clients are told of it.
internal import GLPreview

struct Recording: Sendable, Hashable {
  let camera: String
  let view: String
  let name: StampedFileName
  let start: WallTime
  /// Nil while it is being recorded.
  var duration: Duration?
  var bytes: Int

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

  var answer: Answer {
    Answer(
      camera: camera, view: view, start: start.description, duration: duration.map { $0 / .seconds(1) },
      bytes: bytes, url: path, recording: duration == nil)
  }
}

extension ServiceEvents {
  /// A recording began, or has ended.
  func recorded(_ recording: Recording) {
    publish(
      "recording",
      [
        "camera": .string(recording.camera), "view": .string(recording.view),
        "what": .string(recording.duration == nil ? "began" : "ended"),
        "timestamp": .string(recording.start.description),
        "duration": recording.duration.map { .number($0 / .seconds(1)) },
        "bytes": .integer(recording.bytes), "url": .string(recording.path),
      ])
  }
}
