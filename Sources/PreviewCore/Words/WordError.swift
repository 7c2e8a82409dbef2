// What is wrong with something that was typed, or asked for by name.

/// A value that a view, a scene or a mask can't have.
///
/// ```swift
/// do { view = try ViewConfiguration(parsing: "thumb:size=0x90") } catch { print(error) }
/// // size: '0' is not a whole number from 1 to 65535 (view 'thumb')
/// ```
public struct WordError: Error, Hashable, CustomStringConvertible {
  /// The key at fault, such as `size`, or the part, such as `tile 3 (door)`; empty where the caller knows it.
  public let key: String
  /// What is wrong with its value, and which values are allowed.
  public let reason: String

  /// An error of `key`.
  public init(_ key: String, _ reason: String) {
    self.key = key
    self.reason = reason
  }

  /// An error of a value whose key the caller names.
  package init(_ reason: String) { self.init("", reason) }

  /// `KEY: REASON`.
  public var description: String { key.isEmpty ? reason : "\(key): \(reason)" }
}
