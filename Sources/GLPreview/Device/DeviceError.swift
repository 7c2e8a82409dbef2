// What a user reads when there is nothing to draw on: what was tried, what each said, and what to do about it.

/// No device could be used.
public struct DeviceError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A device that was tried.
  public struct Attempt: Sendable, Equatable {
    /// Where it was looked for: "EGL device 0 (/dev/dri/renderD128)".
    public let place: String
    /// What it said: "eglInitialize: EGL_NOT_INITIALIZED".
    public let reason: String
  }

  /// In a few words: "no usable GPU".
  public let problem: String
  /// In the order in which they were tried.
  public let attempts: [Attempt]
  /// What to install or to pass, the likeliest first.
  public let hints: [String]

  /// On one line, with the first hint.
  public var description: String {
    guard let hint = hints.first else {
      return ([problem] + attempts.prefix(1).map { "\($0.place): \($0.reason)" }).joined(separator: "; ")
    }
    return "\(problem): \(hint)"
  }

  /// On as many lines as it takes, with every attempt and every hint.
  public var details: String {
    var lines = [problem]
    if !attempts.isEmpty { lines.append("tried:") }
    lines += attempts.map { "  \($0.place): \($0.reason)" }
    if !hints.isEmpty { lines.append("what may help:") }
    lines += hints.map { "  - \($0)" }
    return lines.joined(separator: "\n")
  }
}
