// What is recorded of a camera.
internal import GLPreview

/// When a camera is recorded, and how much of it. The folder is the service's.
package struct RecordingConfiguration: Sendable, Hashable {
  package enum Occasion: String, Sendable, Hashable, CaseIterable {
    case never, always
    /// From `before` a trigger on, until `after` its end.
    case trigger
    /// The same, where motion is a trigger too.
    case motion
  }

  package var when = Occasion.never
  /// The view that is recorded; nil for the camera's first.
  package var view: String?
  /// How much is recorded of the time before a trigger, and after its end.
  package var before = Duration.seconds(5)
  package var after = Duration.seconds(10)
  /// The length of a file; it ends with the next key picture.
  package var segment = Duration.seconds(60)
}

extension ConfigurationWord<String> {
  static let viewName = Self("a view's name") { text in
    try ViewConfiguration.check(name: text)
    return text
  }
}
