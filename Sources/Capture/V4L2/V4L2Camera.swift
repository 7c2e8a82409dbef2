// The cameras of this machine: lists them, and reads and sets their controls.

/// A V4L2 camera of this machine.
///
/// ```swift
/// for camera in await V4L2Camera.all() { print(camera.node, camera.name) }
/// ```
public struct V4L2Camera: Sendable, Hashable {
  /// The device file: `/dev/video0`.
  public let node: String
  /// A link that does not change if the camera is renumbered, or, by ID, plugged in elsewhere:
  /// `/dev/v4l/by-id/...`, or by-path.
  public let stablePath: String?
  /// The name that the camera reports.
  public let name: String
  /// The location on the bus: `usb-0000:00:14.0-1`.
  public let bus: String
  /// The driver: `uvcvideo`, `vivid`
  public let driver: String
  /// The formats that the camera delivers, in its own order.
  public let formats: [Format]
  /// The controls, in the camera's own order.
  public let controls: [CameraControl]
  /// Why the camera can't be opened, most often for lack of permission; nil if it can. If this is set, most
  /// other properties are empty.
  public let diagnosis: String?
}

extension V4L2Camera {
  /// Returns all cameras in the order of their numbers, with their formats and controls.
  ///
  /// Each camera is opened briefly, which does not disturb other streams. Nodes without pictures are omitted.
  public static func all() async -> [V4L2Camera] {
    await V4L2Lister().all()
  }

  /// Returns whether `source` names a camera: `/dev/videoN`, `/dev/v4l/by-id/...`.
  package static func isNamed(by source: String) -> Bool {
    ["/dev/video", "/dev/v4l/"].contains { source.lowercased().hasPrefix($0) }
  }

  /// Returns the controls of a camera with their current values. This works even while the camera streams,
  /// here or in another process.
  ///
  /// - Parameter source: `/dev/video0`, with or without a format, size and rate.
  /// - Returns: all controls, in the camera's order.
  /// - Throws: `SourceError` if there is no such camera, or it can't be opened.
  public static func controls(of source: String) async throws -> [CameraControl] {
    try await V4L2Lister().controls(of: V4L2Locator(source).path, setting: [])
  }

  /// Sets controls of a camera in order. This works even while the camera streams, here or in another
  /// process.
  ///
  /// - Parameters:
  ///   - settings: names and values, as in `SourceOptions.controls`.
  ///   - source: `/dev/video0`, with or without a format, size and rate.
  /// - Returns: all controls with their new values.
  /// - Throws: `SourceError`: `.badRequest` for an unknown control or a refused value; settings before it
  ///   remain in effect.
  public static func set(_ settings: [CameraControl.Setting], of source: String) async throws
    -> [CameraControl]
  {
    try await V4L2Lister().controls(of: V4L2Locator(source).path, setting: settings)
  }
}

/// Queries cameras on a thread of its own, because drivers may be slow.
private actor V4L2Lister {
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue = ReadingQueue(named: "cameras")

  func controls(of path: String, setting settings: [CameraControl.Setting]) throws -> [CameraControl] {
    do {
      let node = try V4L2Node(opening: path)
      try node.set(settings)
      return node.controls()
    } catch {
      throw V4L2Diagnosis.explained(error, path: path, name: path, wasOpen: false)
    }
  }

  func all() -> [V4L2Camera] { V4L2Nodes.all().compactMap(camera) }

  private func camera(_ path: String) -> V4L2Camera? {
    let node: V4L2Node
    do throws(V4L2Error) {
      node = try V4L2Node(opening: path)
    } catch {
      return unopened(path, error)
    }
    guard node.capability.captures else { return nil }
    var formats = node.formats()
    if !formats.contains(where: \.isReadable), !node.isMultiplanar,
      let converting = try? V4L2Node(opening: path, converts: true)
    {
      formats += converting.formats { $0.isReadable }.filter { $0.isEmulated && $0.isReadable }
    }
    return V4L2Camera(
      node: path, stablePath: V4L2Nodes.stablePath(of: path), name: node.capability.card,
      bus: node.capability.bus, driver: node.capability.driver, formats: formats, controls: node.controls(),
      diagnosis: nil)
  }

  /// Describes a camera that can't be opened, as far as /sys does. Only for a device's first node: the others
  /// are mostly for metadata.
  private func unopened(_ path: String, _ error: V4L2Error) -> V4L2Camera? {
    guard let identity = V4L2Identity(of: path), identity.index == "0" || identity.index.isEmpty else {
      return nil
    }
    let diagnosis = V4L2Diagnosis.explain(error, path: path, name: path, wasOpen: false)
    return V4L2Camera(
      node: path, stablePath: V4L2Nodes.stablePath(of: path), name: identity.name, bus: "", driver: "",
      formats: [], controls: [], diagnosis: diagnosis.reason)
  }
}
