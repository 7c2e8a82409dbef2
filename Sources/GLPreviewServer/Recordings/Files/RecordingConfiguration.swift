// The recording settings of a camera, and the keys below its `record`.

/// When a camera is recorded, and how much of it. The folder is configured for the whole service.
package struct RecordingConfiguration: Sendable, Hashable {
  package enum Occasion: String, Sendable, Hashable, CaseIterable {
    case never, always
    /// From `before` a trigger until `after` its end.
    case trigger
    /// Like `trigger`, but motion is a trigger too.
    case motion
  }

  package var when = Occasion.never
  /// The view that is recorded; nil for the camera's first.
  package var view: String?
  /// How much is recorded of the time before a trigger, and after its end.
  package var before = Duration.seconds(5)
  package var after = Duration.seconds(10)
  /// The length of a file, which ends at the next keyframe.
  package var segment = Duration.seconds(60)
}

extension RecordingConfiguration {
  /// The key `record` of a camera.
  package static let cameraKey = ConfigurationKey<CameraConfiguration>(
    "record", keys, \.record, needsKeys: true)

  /// The key `recordings` of the service.
  package static let serviceKey = ConfigurationKey<ServerConfiguration>(
    "recordings", ConfigurationKeys.folder(of: "recordings"), \.recordings, new: .init(path: "")
  ) { ConfigurationKeys.isThere("path", &$0, $1) }.atStart

  private static let keys: [ConfigurationKey<RecordingConfiguration>] = [
    .init(
      "when", .choice, \.when, "`never`",
      "when the camera is recorded ([recording.md](recording.md)); `motion` needs the camera's `motion`, and accepts triggers too"
    ),
    .init(
      "view", .viewName, \.view, "the first",
      "the view that is recorded, as it is served: with masks, size and labels"),
    .init(
      "before", .time, \.before, "`5s`", "the time that is recorded before a trigger, at most a minute"
    ),
    .init("after", .time, \.after, "`10s`", "the time that is recorded after a trigger's end"),
    .init("segment", .time, \.segment, "`1m`", "the length of a file, which ends at the next keyframe"),
  ]
}

extension ServerConfiguration {
  /// The folder of recordings; nil if there is none.
  package var recordings: FolderConfiguration? {
    get { sections[FolderSection.self] }
    set { sections[FolderSection.self] = newValue }
  }
}

extension CameraConfiguration {
  /// The camera's recording settings.
  package var record: RecordingConfiguration {
    get { sections[RecordSection.self] }
    set { sections[RecordSection.self] = newValue }
  }
}

private enum FolderSection: ConfigurationSection {
  typealias Target = ServerConfiguration
  static let usual: FolderConfiguration? = nil
}

private enum RecordSection: ConfigurationSection {
  static let usual = RecordingConfiguration()

  static func problems(of camera: CameraConfiguration, in service: ServerConfiguration)
    -> [ConfigurationProblem]
  {
    let record = camera.record
    guard record.when != .never else { return [] }
    let views = camera.views.map(\.view.name)
    let (isKnown, known) = (record.view.map(views.contains) ?? true, views.joined(separator: ", "))
    let reasons: [(String, String?)] = [
      ("when", record.when == .motion && camera.motion == nil ? "needs the camera's 'motion'" : nil),
      ("when", service.recordings == nil ? "no folder for recordings: set recordings.path" : nil),
      ("view", isKnown ? nil : "no view '\(record.view ?? "")' (known: \(known))"),
      (
        "before",
        record.before > .seconds(60) ? "is longer than a minute, the most that is buffered in memory" : nil
      ),
      (
        "segment",
        (.seconds(1)...(.seconds(86_400))).contains(record.segment) ? nil : "is not from 1s to 1d"
      ),
    ]
    return reasons.compactMap { key, reason in
      reason.map { ConfigurationProblem(path: ["cameras", camera.name, "record", key], $0) }
    }
  }
}
