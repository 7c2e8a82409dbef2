// The error when no GPU can be used: the attempts, their errors, and hints for the user.

/// No device could be used.
public struct DeviceError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A failed attempt to open a device.
  package struct Attempt: Sendable, Equatable {
    /// The device: "EGL device 0 (/dev/dri/renderD128)".
    package let place: String
    /// The error: "eglInitialize: EGL_NOT_INITIALIZED".
    package let reason: String
  }

  /// A short summary: "no usable GPU".
  package let problem: String
  /// The failed attempts, in order.
  package let attempts: [Attempt]
  /// What to install or pass, most likely first.
  package let hints: [String]

  /// One line, with the first hint.
  public var description: String {
    guard let hint = hints.first else {
      return ([problem] + attempts.prefix(1).map { "\($0.place): \($0.reason)" }).joined(separator: "; ")
    }
    return "\(problem): \(hint)"
  }

  /// Several lines, with every attempt and every hint.
  public var details: String {
    var lines = [problem]
    if !attempts.isEmpty { lines.append("tried:") }
    lines += attempts.map { "  \($0.place): \($0.reason)" }
    if !hints.isEmpty { lines.append("what may help:") }
    lines += hints.map { "  - \($0)" }
    return lines.joined(separator: "\n")
  }
}
