// An ioctl that failed.
internal import Glibc

/// What was being done, and the errno that came of it.
struct V4L2Error: Error, Hashable, CustomStringConvertible {
  /// `setting the format`
  let activity: String
  let code: CInt

  var description: String { "\(activity): \(Self.text(code))" }

  /// Whether the device is gone.
  var isGone: Bool { code == ENODEV || code == ENXIO }

  static func check(_ code: CInt, _ activity: @autoclosure () -> String) throws(V4L2Error) {
    guard code == 0 else { throw V4L2Error(activity: activity(), code: code) }
  }

  static func text(_ code: CInt) -> String { unsafe String(cString: strerror(code)) }
}
