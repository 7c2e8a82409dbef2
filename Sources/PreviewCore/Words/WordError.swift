// The error for a bad value in text or in a request.

/// A value that a view, a scene or a mask does not accept.
///
/// ```swift
/// do { view = try ViewConfiguration(parsing: "thumb:size=0x90") } catch { print(error) }
/// // size: '0' is not a whole number from 1 to 65535 (view 'thumb')
/// ```
public struct WordError: Error, Hashable, CustomStringConvertible {
  /// The key at fault, such as `size`, or the part, such as `tile 3 (door)`; empty if the caller names it.
  public let key: String
  /// What is wrong with the value, and which values are allowed.
  public let reason: String

  /// Creates an error for `key`.
  package init(_ key: String, _ reason: String) {
    self.key = key
    self.reason = reason
  }

  /// Creates an error for a value whose key the caller names.
  package init(_ reason: String) { self.init("", reason) }

  /// `KEY: REASON`, or the reason alone if the key is empty.
  public var description: String { key.isEmpty ? reason : "\(key): \(reason)" }
}
