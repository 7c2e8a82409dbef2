// The facts about this machine that decide whether EGL finds a GPU, and that a user could change.
internal import Glibc

/// Facts about files, permissions and variables, from which the hints of a `DeviceError` follow.
struct HostFacts: Sendable, Equatable {
  /// A render node in /dev/dri, and the `errno` of opening it; 0 if it opens.
  struct RenderNode: Sendable, Equatable {
    let path: String
    let status: CInt
  }

  let renderNodes: [RenderNode]
  /// Whether EGL has any driver: without one it names no client extensions.
  let hasEGLDriver: Bool
  /// The files by which drivers register with libglvnd's EGL.
  let vendorFiles: [String]
  let hasNVIDIADevice: Bool
  let isContainer: Bool
  /// The variables of `pathVariables` and `driverVariables` that are set.
  let variables: [String: String]

  /// Variables that replace the usual search paths for drivers.
  static let pathVariables = [
    "__EGL_VENDOR_LIBRARY_FILENAMES", "__EGL_VENDOR_LIBRARY_DIRS", "LIBGL_DRIVERS_PATH",
  ]
  /// Variables that replace the GPU's own driver.
  static let driverVariables = ["MESA_LOADER_DRIVER_OVERRIDE", "GALLIUM_DRIVER"]

  /// Whether there is a device file of a GPU that renders, not only of a display. Without one, EGL finds only software, and loading its drivers would take
  /// tens of milliseconds and of megabytes.
  static var hasGPUFile: Bool {
    let prefixes = ["nvidia", "mali", "kgsl", "dxg", "pvr"]
    return !paths(in: "/dev/dri") { $0.hasPrefix("renderD") }.isEmpty
      || !paths(in: "/dev") { name in prefixes.contains { name.hasPrefix($0) } }.isEmpty
  }

  static func ofThisMachine() -> HostFacts {
    var variables: [String: String] = [:]
    for name in pathVariables + driverVariables { variables[name] = unsafe String(lent: getenv(name)) }
    let nodes = paths(in: "/dev/dri") { $0.hasPrefix("renderD") }
    return HostFacts(
      renderNodes: nodes.map { RenderNode(path: $0, status: statusOfOpening($0)) },
      hasEGLDriver: !EGLClient.extensions.isEmpty,
      vendorFiles: ["/usr/share", "/etc"].flatMap { folder in
        paths(in: folder + "/glvnd/egl_vendor.d") { $0.hasSuffix(".json") }
      },
      hasNVIDIADevice: exists("/dev/nvidiactl"),
      isContainer: exists("/.dockerenv") || exists("/run/.containerenv"), variables: variables)
  }

  /// Hints for a device that does not work, most likely first.
  var deviceHints: [String] { variableHints + driverHints + nodeHints }

  /// Hints if the file at `path` does not work.
  func hints(insteadOf path: String) -> [String] {
    let others = renderNodes.map(\.path).filter { $0 != path }
    return deviceHints + (others.isEmpty ? [] : ["this machine has \(others.joined(separator: ", "))"])
  }

  var hints: [String] { deviceHints + ["software rendering needs libegl-mesa0 and libgl1-mesa-dri"] }

  private var variableHints: [String] {
    Self.pathVariables.compactMap { name in
      variables[name].map { "drivers are looked for only in \($0): unset \(name)" }
    }
      + Self.driverVariables.compactMap { name in
        variables[name].map { "the driver \($0) is used whatever the GPU: unset \(name)" }
      }
  }

  private var driverHints: [String] {
    var hints: [String] = []
    if !hasEGLDriver && variableHints.isEmpty {
      hints.append(
        vendorFiles.isEmpty
          ? "no EGL driver (/usr/share/glvnd/egl_vendor.d is empty): install libegl-mesa0, or NVIDIA's driver with its EGL"
          : "no EGL driver loads (\(vendorFiles.joined(separator: ", "))): reinstall libegl-mesa0")
    }
    if hasNVIDIADevice && !vendorFiles.contains(where: { $0.contains("nvidia") }) {
      hints.append(
        "an NVIDIA GPU without its driver's EGL: install libegl-nvidia0 or libnvidia-gl; "
          + "for a container, NVIDIA_DRIVER_CAPABILITIES=graphics")
    }
    return hints
  }

  private var nodeHints: [String] {
    if renderNodes.isEmpty {
      if hasNVIDIADevice { return [] }
      return [
        isContainer
          ? "no GPU in this container: start it with --device /dev/dri"
          : "no render node in /dev/dri: no GPU, or its kernel driver is not loaded"
      ]
    }
    return renderNodes.filter { $0.status == EACCES || $0.status == EPERM }.map {
      "no permission to open \($0.path): join its group, render (video on older systems); for a container, --group-add"
    }
  }

  private static func exists(_ path: String) -> Bool { SystemFiles.status(path) != nil }

  private static func statusOfOpening(_ path: String) -> CInt {
    let file = unsafe open(path, O_RDWR | O_CLOEXEC)
    guard file >= 0 else { return errno }
    close(file)
    return 0
  }

  private static func paths(in folder: String, where isWanted: (String) -> Bool) -> [String] {
    SystemFiles.names(in: folder).filter(isWanted).map { "\(folder)/\($0)" }
  }
}
