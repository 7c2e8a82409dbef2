// The error of a failed ioctl, and the reason why a camera can't be opened: which process uses it, which
// group may open it, and which cameras there are.
internal import Glibc

enum V4L2Diagnosis {
  /// Converts an error of V4L2 or of the mode selection to a `SourceError`; returns any other error
  /// unchanged.
  static func explained(_ error: any Error, path: String, name: String, wasOpen: Bool) -> any Error {
    switch error {
    case let error as V4L2Error: explain(error, path: path, name: name, wasOpen: wasOpen)
    case let error as V4L2Refusal: SourceError(.badRequest, path: name, reason: error.description)
    default: error
    }
  }

  /// Explains `error` at `path` to the user. `wasOpen` means that the camera has delivered pictures before.
  static func explain(_ error: V4L2Error, path: String, name: String, wasOpen: Bool) -> SourceError {
    if wasOpen, [ENOENT, ENOTDIR, ENODEV, ENXIO].contains(error.code) {
      return SourceError(.unavailable, path: name, reason: "was unplugged")
    }
    return switch error.code {
    case ENOENT, ENOTDIR:
      SourceError(.notFound, path: name, reason: "no such camera: " + others())
    case ENODEV, ENXIO:
      // The node may remain after its device is gone, or be hidden from a container.
      SourceError(.notFound, path: name, reason: "no camera is connected to it: " + others())
    case EACCES, EPERM: SourceError(.unreadable, path: name, reason: permission(path, code: error.code))
    case EBUSY: SourceError(.unavailable, path: name, reason: "is in use by \(holders(of: path))")
    case _ where error.activity == "asking what it is":
      SourceError(.badRequest, path: name, reason: "is not a camera: " + others())
    default: SourceError(.unavailable, path: name, reason: error.description)
    }
  }

  /// Lists the cameras: `there are /dev/video0 (HD Webcam), ...`
  static func others() -> String {
    let cameras = V4L2Nodes.all().compactMap { node in
      V4L2Identity(of: node).map { identity in "\(node) (\(identity.name))" } ?? node
    }
    return cameras.isEmpty
      ? "this machine has no cameras"
      : "there are \(cameras.joined(separator: ", "))"
  }

  private static func permission(_ path: String, code: CInt) -> String {
    guard code == EACCES, let status = SystemFiles.status(path) else {
      return "may not be opened here: a container needs --device \(path)"
    }
    // If udev has not assigned the node to a group, names the group that udev would use.
    let group = status.st_gid == 0 ? nil : name(ofGroup: status.st_gid)
    return "no permission to open it: your user must be in the group '\(group ?? "video")'"
  }

  private static func name(ofGroup id: gid_t) -> String? {
    var buffer = [CChar](repeating: 0, count: 16384)
    var entry = unsafe group()
    var result: UnsafeMutablePointer<group>?
    guard unsafe getgrgid_r(id, &entry, &buffer, buffer.count, &result) == 0, unsafe result != nil else {
      return nil
    }
    return unsafe String(cString: entry.gr_name)
  }

  /// Names the processes that have the device open, as far as /proc shows them: `'ustreamer' (process 123)`.
  static func holders(of path: String) -> String {
    let found = processes(holding: path)
    let others = found.filter { $0 != getpid() }
    guard !others.isEmpty else { return found.isEmpty ? "another process" : "this process itself" }
    return others.map { process in
      "'\(SystemFiles.line("/proc/\(process)/comm") ?? "?")' (process \(process))"
    }.joined(separator: ", ")
  }

  private static func processes(holding path: String) -> [pid_t] {
    guard let device = SystemFiles.status(path)?.st_rdev else { return [] }
    return SystemFiles.names(in: "/proc").compactMap { pid_t($0) }.filter { process in
      let folder = "/proc/\(process)/fd"
      return SystemFiles.names(in: folder).contains { name in
        guard let status = SystemFiles.status("\(folder)/\(name)") else { return false }
        return status.st_mode & S_IFMT == S_IFCHR && status.st_rdev == device
      }
    }.sorted()
  }
}

struct V4L2Error: Error, Hashable, CustomStringConvertible {
  /// The action: `setting the format`
  let activity: String
  let code: CInt

  var description: String { "\(activity): \(String(errno: code))" }

  var isGone: Bool { code == ENODEV || code == ENXIO }

  static func check(_ code: CInt, _ activity: @autoclosure () -> String) throws(V4L2Error) {
    guard code == 0 else { throw V4L2Error(activity: activity(), code: code) }
  }
}
