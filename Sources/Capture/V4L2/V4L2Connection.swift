// One connection to a camera: opened, configured and streaming, until it is closed or the camera is gone.
// Also the device, which connects by node the first time, and later to the same camera even if its node has
// changed.
internal import CV4L2
internal import Glibc
internal import Synchronization

/// A streaming camera. It runs on a thread of its own, because drivers block.
actor V4L2Connection: CaptureConnection {
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private let name: String
  private let preferences: V4L2Preferences
  private let options: SourceOptions
  private let memory: FramePool

  private var node: V4L2Node?
  private var stream: V4L2Stream?
  /// The sequence number that the driver should give the next picture; nil before the first.
  private var nextSequence: UInt32?
  private var skipped = 0
  /// The maker of the stream's buffers, also if it refused; nil if the stream was started without a renderer that shares buffers.
  private weak var sharing: (any BufferSharing)?
  /// Whether there was one, which may have gone since.
  private var hadSharing = false
  /// Since when a stream into the renderer's buffers has given no picture; nil if it has given one.
  private var awaitsSharedPicture: CaptureInstant?
  /// Whether such a stream gave none; kept for the camera's next connections.
  private let sharingFault: SharingFault

  private(set) var mode = SourceStatus.Mode(format: "", transport: "mmap")

  /// `reference` is the reference size that an earlier connection determined.
  init(
    name: String, _ preferences: V4L2Preferences, _ options: SourceOptions, _ memory: FramePool,
    _ sharingFault: SharingFault, reference: Size?
  ) {
    self.sharingFault = sharingFault
    mode.referenceSize = reference
    queue = ReadingQueue(named: name)
    self.name = name
    self.preferences = preferences
    self.options = options
    self.memory = memory
  }

  // MARK: Opening

  /// Opens the device at `path`, or the camera `identity` at its current node, and starts the stream. Returns
  /// the camera's identity; nil if /sys does not list it.
  func open(_ path: String, knownAs identity: V4L2Identity?, besides others: Set<String>) async throws
    -> V4L2Identity?
  {
    var path = path
    if let identity {
      guard let found = V4L2Nodes.find(identity, at: path, besides: others) else {
        throw SourceError(.unavailable, path: name, reason: "was unplugged")
      }
      path = found
    }
    do {
      try await start(path)
    } catch {
      stop()
      node = nil
      throw V4L2Diagnosis.explained(error, path: path, name: name, wasOpen: identity != nil)
    }
    return V4L2Identity(of: path)
  }

  private func start(_ path: String) async throws {
    let node = try openNode(path)
    self.node = node
    try node.set(options.controls)
    _ = glp_v4l2_subscribe(node.descriptor)
    try await startStream(node)
  }

  /// Opens the device itself, or opens it through libv4lconvert if only that provides readable pictures of
  /// the wanted format.
  private func openNode(_ path: String) throws -> V4L2Node {
    let node = try V4L2Node(opening: path)
    try Task.checkCancellation()
    guard node.capability.captures else {
      throw V4L2Refusal("is not a camera: \(node.capability.otherwise); \(V4L2Diagnosis.others())")
    }
    guard node.capability.streams else { throw V4L2Refusal("can't map its buffers into memory") }
    let formats = node.formats { _ in false }
    let isServed = formats.contains { $0.isReadable && preferences.allow($0) }
    // If libv4lconvert does not help either, errors should name the device's own formats.
    guard !isServed, !formats.isEmpty, !node.isMultiplanar,
      let converting = try? V4L2Node(opening: path, converts: true),
      converting.formats(where: { _ in false }).contains(where: { $0.isEmulated && $0.isReadable })
    else { return node }
    return converting
  }

  private func startStream(_ node: V4L2Node) async throws {
    let signal = try followSignal(node)
    let formats = node.formats { [preferences] in $0.isReadable && preferences.allow($0) }
    try Task.checkCancellation()
    // Determined before any demand is considered. A change of the signal does not change it.
    let reference =
      options.referenceSize ?? mode.referenceSize
      ?? V4L2ModeSelection.referenceSize(
        formats, preferences, signal: signal, maximumPixels: options.maximumPixels)
    let selection = try V4L2ModeSelection(
      formats, preferences, options.demand, signal: signal, pinned: options.isPinned ? reference : nil)
    let sharing = wantedSharing
    let format = try node.set(selection, forGPU: sharing != nil)
    try Task.checkCancellation()
    let interval = try selection.interval.map { try node.set($0) } ?? node.interval()
    let stream = try await V4L2Stream(
      node, format, isEmulated: selection.isEmulated, maximumPixels: options.maximumPixels, sharing: sharing)
    guard self.node === node else {
      // It was closed meanwhile.
      stream.buffers.stop()
      throw CancellationError()
    }
    (self.sharing, hadSharing, self.stream) = (sharing, sharing != nil, stream)
    awaitsSharedPicture = stream.buffers.areShared ? CaptureClock.now : nil
    mode = SourceStatus.Mode(
      format: stream.fourCC.description, size: stream.size, referenceSize: reference,
      framesPerSecond: interval?.framesPerSecond,
      transport: selection.isEmulated
        ? "mmap, made by libv4lconvert" : stream.buffers.areShared ? "dma-buf" : "mmap")
    if options.dmaBuffers == .automatic { mode.copyingReason = copyingReason(of: stream) }
    nextSequence = nil
  }

  /// The renderer that makes buffers; nil if there is none, or if pictures are changed in memory before they are read.
  private var wantedSharing: (any BufferSharing)? {
    options.sharesBuffers && !sharingFault.isKnown ? memory.sharing : nil
  }

  private func copyingReason(of stream: V4L2Stream) -> String? {
    if stream.buffers.areShared { return nil }
    if !options.masks.isEmpty { return "its masks are drawn in memory" }
    if sharingFault.isKnown { return "the driver gave no picture in the renderer's buffers" }
    return stream.obstacle ?? stream.refusal ?? "no renderer that reads pictures in place has drawn it yet"
  }

  /// Whether the renderer that reads pictures in place is another one than when the stream was started.
  private var isSharingOutdated: Bool {
    guard let stream, stream.obstacle == nil else { return false }
    return wantedSharing !== sharing || hadSharing && sharing == nil
  }

  /// Sets a video input to the timings of its signal. Returns the signal's size; nil for a device without
  /// such timings.
  private func followSignal(_ node: V4L2Node) throws -> Size? {
    var (width, height): (UInt32, UInt32) = (0, 0)
    switch unsafe glp_v4l2_follow_signal(node.descriptor, &width, &height) {
    case 0: return width > 0 && height > 0 ? Size(width: Int(width), height: Int(height)) : nil
    case ENOLINK: throw SourceError(.unavailable, path: name, reason: "has no signal")
    case ENOLCK, ERANGE:
      throw SourceError(.unavailable, path: name, reason: "has a signal that it can't lock to")
    case let code: throw V4L2Error(activity: "looking for a signal", code: code)
    }
  }

  // MARK: Pictures

  func next() async throws -> Capture? {
    guard let node else { throw SourceError(.unavailable, path: name, reason: "is closed") }
    while true {
      try Task.checkCancellation()
      do {
        // The renderer may come, and go, after the camera.
        if isSharingOutdated { try await restart(node) }
        switch try waitForDevice(node) {
        case .nothing: continue
        case .ended: return nil
        case .changed: try await restart(node)
        case .ready(let isFaulty):
          if let capture = try await take(node, isFaulty: isFaulty) { return capture }
        }
      } catch let error as DamagedCapture {
        throw error
      } catch {
        throw V4L2Diagnosis.explained(error, path: node.path, name: name, wasOpen: true)
      }
    }
  }

  private static let givesPictureWithin = Duration.seconds(2)

  private enum Readiness {
    case nothing
    case changed
    case ended
    case ready(isFaulty: Bool)
  }

  /// Waits for at most 100 ms.
  private func waitForDevice(_ node: V4L2Node) throws -> Readiness {
    var waiting = pollfd(fd: node.descriptor, events: Int16(POLLIN | POLLPRI), revents: 0)
    let count = unsafe poll(&waiting, 1, 100)
    guard count > 0 else {
      if count < 0, errno != EINTR { throw V4L2Error(activity: "waiting for a picture", code: errno) }
      return .nothing
    }
    if Int32(waiting.revents) & POLLPRI != 0 {
      var (hasChanged, hasEnded) = (false, false)
      try V4L2Error.check(
        unsafe glp_v4l2_take_events(node.descriptor, &hasChanged, &hasEnded), "taking an event")
      if hasChanged { return .changed }
      if hasEnded { return .ended }
    }
    let isFaulty = Int32(waiting.revents) & (POLLERR | POLLHUP | POLLNVAL) != 0
    return isFaulty || Int32(waiting.revents) & POLLIN != 0 ? .ready(isFaulty: isFaulty) : .nothing
  }

  /// Configures the stream again after the input signal has changed.
  private func restart(_ node: V4L2Node) async throws {
    let wereShared = stream?.buffers.areShared ?? false
    stop()
    node.releaseBuffers(areShared: wereShared)
    try await startStream(node)
  }

  private func take(_ node: V4L2Node, isFaulty: Bool) async throws -> Capture? {
    guard let stream else { return nil }
    let buffer: glp_v4l2_buffer?
    do throws(V4L2Error) {
      buffer = try stream.buffers.dequeue()
    } catch {
      // The last buffer before a change has already been taken (V4L2 documentation, "Dynamic Resolution
      // Change").
      guard error.code == EPIPE else { throw error }
      try await restart(node)
      return nil
    }
    guard let buffer else {
      // An unplugged device still responds to polls, but to nothing else.
      if isFaulty {
        _ = try V4L2Capability(of: node.descriptor)
        throw V4L2Error(activity: "streaming", code: EIO)
      }
      return nil
    }
    count(buffer.sequence)
    let capture = try stream.capture(buffer, skipped: skipped, options, memory)
    awaitsSharedPicture = nil
    skipped = 0
    return capture
  }

  /// Counts the pictures that are missing before `sequence`.
  private func count(_ sequence: UInt32) {
    if let nextSequence {
      let gap = sequence &- nextSequence
      // A larger gap means that the driver has restarted its count or does not count. The number of lost
      // pictures is then unknown.
      if gap < 10_000 { skipped += Int(gap) }
    }
    nextSequence = sequence &+ 1
  }

  // MARK: Closing

  func close() {
    stop()
    node = nil
  }

  private func stop() {
    // Another connection would have the same fault.
    if let since = awaitsSharedPicture.take(), CaptureClock.now - since > Self.givesPictureWithin {
      sharingFault.isKnown = true
    }
    stream?.buffers.stop()
    // Before the node: libv4l2 needs its own buffers unmapped first.
    stream = nil
  }
}

/// Whether a camera's driver gives no pictures in buffers that are not its own.
final class SharingFault: Sendable {
  private let state = Mutex(false)

  var isKnown: Bool {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}

final class V4L2Device: CaptureDevice {
  let name: String
  /// Short, because checking whether a camera is back costs almost nothing.
  let longestPause = Duration.seconds(1)
  private let locator: V4L2Locator
  private let options: SourceOptions
  private let memory: FramePool
  private let known = Mutex(Known())
  private let sharingFault = SharingFault()

  private struct Known {
    var camera: V4L2Identity?
    var others: Set<String> = []
    var reference: Size?
  }

  init(_ text: String, _ options: SourceOptions) throws(SourceError) {
    name = text
    locator = try V4L2Locator(text)
    self.options = options
    memory = options.memory ?? FramePool()
  }

  func connect() async throws -> any CaptureConnection {
    let before = known.withLock { $0 }
    let connection = V4L2Connection(
      name: name, locator.preferences, options, memory, sharingFault, reference: before.reference)
    let found = try await connection.open(locator.path, knownAs: before.camera, besides: before.others)
    let reference = await connection.mode.referenceSize
    let others = found.map { V4L2Nodes.lookalikes(of: $0) }
    known.withLock { known in
      known.reference = reference
      if let found, let others { (known.camera, known.others) = (found, others) }
    }
    return connection
  }
}
