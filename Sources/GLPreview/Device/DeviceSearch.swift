// Decides which candidates to try, in which order, and which to use; or why none can be used. `DeviceProbe`
// tries them.

/// A search through a machine's candidates. Its inputs are values and a function, so that tests can simulate
/// any machine.
struct DeviceSearch {
  let candidates: [DeviceCandidate]
  let host: HostFacts
  let probe: (DeviceCandidate) -> GPUDevice

  static func ofThisMachine(_ probe: @escaping (DeviceCandidate) -> GPUDevice) -> DeviceSearch {
    let host = HostFacts.ofThisMachine()
    let candidates = DeviceCandidate.all(renderNodes: host.renderNodes.map(\.path))
    return DeviceSearch(candidates: candidates, host: host, probe: probe)
  }

  /// Tries all candidates. Omits those that lead to a working device listed already.
  func list() -> [GPUDevice] {
    candidates.reduce(into: []) { list, candidate in
      let working = list.filter { $0.driver != nil }
      switch candidate.kind {
      case .gbm where working.contains { $0.drmNode == candidate.drmNode }: return
      case .surfaceless where !working.isEmpty:
        let device = probe(candidate)
        guard let driver = device.driver, !working.contains(where: { $0.name == driver.renderer }) else {
          return
        }
        list.append(device)
      default: list.append(probe(candidate))
      }
    }
  }

  /// The first working device that matches the user's choice.
  func choose(_ choice: GPUDevice.Choice) throws(DeviceError) -> GPUDevice {
    switch choice {
    case .automatic:
      let (device, attempts) = first(of: automaticOrder) { !$0.isSoftware }
      guard let device else {
        throw DeviceError(problem: "no usable GPU", attempts: attempts, hints: host.hints)
      }
      return device
    case .hardware:
      // Software's driver need not be loaded to be refused.
      let (device, attempts) = first(of: candidates.filter { !$0.isMarkedSoftware }) { !$0.isSoftware }
      guard let device, !device.isSoftware else {
        throw DeviceError(problem: "no GPU that works", attempts: attempts, hints: host.deviceHints)
      }
      return device
    case .cpu, .llvmpipe:
      let markedFirst = candidates.filter(\.isMarkedSoftware) + candidates.filter { !$0.isMarkedSoftware }
      let (device, attempts) = first(of: markedFirst, wanted: \.isSoftware)
      guard let device, device.isSoftware else {
        throw DeviceError(problem: "no software renderer", attempts: attempts, hints: host.hints)
      }
      return device
    case .index(let index):
      // Only numbers that `list` shows: two ways to one device share a number.
      let listed = list().map(\.index)
      guard listed.contains(index) else {
        let numbers = listed.map(String.init).joined(separator: ", ")
        throw DeviceError(
          problem: "no GPU \(index)", attempts: [],
          hints: ["the devices of this machine are \(numbers.isEmpty ? "none" : numbers)"])
      }
      return try certain(
        candidates.filter { $0.index == index }, or: "GPU \(index) does not work", hints: host.deviceHints)
    case .node(let path):
      return try certain(
        candidates(at: path), or: "no usable GPU at \(path)", hints: host.hints(insteadOf: path))
    }
  }

  private func certain(
    _ candidates: [DeviceCandidate], or problem: String, hints: [String]
  ) throws(DeviceError) -> GPUDevice {
    let (device, attempts) = first(of: candidates) { !$0.isSoftware }
    guard let device else { throw DeviceError(problem: problem, attempts: attempts, hints: hints) }
    return device
  }

  /// Hardware by EGL's list, then by file, then by the driver's default, then software.
  ///
  /// If nothing suggests hardware, the default can only be software, and is tried last.
  private var automaticOrder: [DeviceCandidate] {
    let software = candidates.filter(\.isMarkedSoftware)
    let others = candidates.filter { !$0.isMarkedSoftware }
    return others.contains { $0.kind != .surfaceless } ? others + software : software + others
  }

  /// The candidates for a path: EGL's device before GBM. The path may be a link, as in /dev/dri/by-path.
  private func candidates(at path: String) -> [DeviceCandidate] {
    let node = SystemFiles.resolved(path) ?? path
    let known = candidates.filter { $0.drmNode == node }
    if known.contains(where: { $0.kind == .gbm }) { return known }
    let unlisted = DeviceCandidate(
      index: candidates.count, platform: .gbm(node: node), drmNode: node, isMarkedSoftware: false)
    return known + [unlisted]
  }

  /// Stops at the first working, wanted candidate, or at the first that EGL marks as software, because
  /// nothing better follows. Otherwise the first that works. `failed` collects the failures. A file that
  /// EGL's list already draws on in software (kernel drivers without a Mesa driver) is not tried again:
  /// libgbm would print that it knows no driver.
  private func first(
    of candidates: [DeviceCandidate], wanted: (GPUDevice) -> Bool
  ) -> (device: GPUDevice?, failed: [DeviceError.Attempt]) {
    var secondBest: GPUDevice?
    var failed: [DeviceError.Attempt] = []
    var software: Set<String?> = []
    for candidate in candidates {
      if candidate.kind == .gbm, software.contains(candidate.drmNode) { continue }
      let device = probe(candidate)
      switch device.status {
      case .fails(let reason): failed.append(DeviceError.Attempt(place: device.place, reason: reason))
      case .works where wanted(device) || candidate.isMarkedSoftware: return (device, failed)
      case .works:
        secondBest = secondBest ?? device
        software.insert(device.drmNode)
      }
    }
    return (secondBest, failed)
  }
}

/// One EGL display to try: a way to reach a GPU on this machine.
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
        index: index, platform: .device(index), drmNode: device.drmNode, isMarkedSoftware: device.isSoftware)
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
  package let attempts: [Attempt]
  /// Hints on what to install or pass, most likely first.
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
