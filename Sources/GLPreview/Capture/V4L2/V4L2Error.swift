// The error of a failed ioctl.
internal import Glibc

/// The failed action and its errno.
struct V4L2Error: Error, Hashable, CustomStringConvertible {
  /// The action: `setting the format`
  let activity: String
  let code: CInt

  var description: String { "\(activity): \(Self.text(code))" }

  var isGone: Bool { code == ENODEV || code == ENXIO }

  static func check(_ code: CInt, _ activity: @autoclosure () -> String) throws(V4L2Error) {
    guard code == 0 else { throw V4L2Error(activity: activity(), code: code) }
  }

  static func text(_ code: CInt) -> String { unsafe String(cString: strerror(code)) }
}
