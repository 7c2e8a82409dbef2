// What is wrong with a scene, in words for whoever wrote it.

/// A scene that makes no sense, and what would.
public struct SceneError: Error, Hashable, CustomStringConvertible {
  /// The part that is at fault: a key such as `gap`, or a tile such as `tile 3 (door)`.
  public let key: String
  /// What is wrong with it, and its bounds.
  public let reason: String

  /// A fault of `key`.
  public init(_ key: String, _ reason: String) {
    self.key = key
    self.reason = reason
  }

  /// `KEY: REASON`.
  public var description: String { "\(key): \(reason)" }
}
