// The ways to reach a GPU on this machine, before any is tried.

/// One EGL display to try.
struct DeviceCandidate: Sendable, Hashable {
  /// The index among all candidates: the N of `--gpu N`.
  let index: Int
  let platform: DisplayPlatform
  /// Its file in /dev/dri, if it has one.
  let drmNode: String?
  /// Whether EGL marks it as software (EGL_MESA_device_software).
  let isMarkedSoftware: Bool

  var kind: GPUDevice.Kind {
    switch platform {
    case .device: .eglDevice
    case .gbm: .gbm
    case .surfaceless: .surfaceless
    }
  }

  /// All candidates: EGL's devices in EGL's order, the render nodes, and the driver's default.
  static func all(renderNodes: [String]) -> [DeviceCandidate] {
    let devices = EGLDevice.all
    let byList = devices.enumerated().map { index, device in
      DeviceCandidate(
        index: index, platform: .device(index), drmNode: device.drmNode,
        isMarkedSoftware: device.isSoftware)
    }
    let byNode = renderNodes.enumerated().map { index, node in
      DeviceCandidate(
        index: devices.count + index, platform: .gbm(node: node), drmNode: node, isMarkedSoftware: false)
    }
    let byDefault = DeviceCandidate(
      index: devices.count + renderNodes.count, platform: .surfaceless, drmNode: nil, isMarkedSoftware: false)
    return byList + byNode + [byDefault]
  }
}
