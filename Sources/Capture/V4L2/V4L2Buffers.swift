// The driver's buffers: mapped, filled by the driver, borrowed by captures, and returned when the last user
// releases them.
internal import CV4L2
internal import Glibc
internal import Synchronization

/// The buffers of one stream, from its start to its stop. Leases may outlive the stream.
final class V4L2Buffers: Sendable {
  let count: Int
  private let isMultiplanar: Bool
  private let planeCount: UInt32
  /// Whether the buffers are those of the device that reads the frames.
  let areShared: Bool
  /// The driver's own, mapped; empty if they are shared.
  private let mappings: [V4L2Mapping]
  private let state: Mutex<State>

  private struct State {
    /// Nil once the stream is stopped; buffers are then not returned.
    var node: V4L2Node?
    var lent = 0
    /// The buffers of the device that reads the frames, until the stream is stopped. Frames hold theirs.
    var shared: [DMABuffer]
  }

  /// The fewest buffers that remain queued in the driver, so that it never has to wait.
  private static let leastQueued = 2
  private static let wanted = 6
  private static let wantedLarge = 4
  private static let large = 16 << 20

  /// The buffers wanted for pictures of `byteCount` bytes.
  static func wantedCount(_ byteCount: Int) -> Int { byteCount >= large ? wantedLarge : wanted }

  /// Maps buffers for the current format, or takes those of another device, queues all of them in the driver and starts the stream.
  init(_ node: V4L2Node, _ format: glp_v4l2_format, sharing buffers: [DMABuffer]? = nil) throws(V4L2Error) {
    let byteCount = format.memoryPlanes.reduce(0) { $0 + Int($1.size_image) }
    var count = UInt32(buffers?.count ?? Self.wantedCount(byteCount))
    isMultiplanar = node.isMultiplanar
    planeCount = format.plane_count
    try V4L2Error.check(
      unsafe glp_v4l2_request_buffers(node.descriptor, isMultiplanar, buffers != nil, &count),
      "requesting buffers")
    var mappings: [V4L2Mapping] = []
    if let buffers {
      // A driver that wants more would wait for them before it starts.
      guard count <= buffers.count else { throw V4L2Error(activity: "requesting buffers", code: ENOBUFS) }
    } else {
      for index in 0..<count {
        mappings.append(try V4L2Mapping(node, planeCount: planeCount, index: index))
      }
    }
    self.mappings = mappings
    areShared = buffers != nil
    self.count = Int(count)
    state = Mutex(State(node: node, shared: buffers ?? []))
    guard count > 0 else { throw V4L2Error(activity: "requesting buffers", code: ENOMEM) }
    for index in 0..<count {
      try V4L2Error.check(queue(index, on: node, buffers ?? []), "queueing a buffer")
    }
    try V4L2Error.check(glp_v4l2_start(node.descriptor, isMultiplanar, areShared), "starting to stream")
  }

  private func queue(_ index: UInt32, on node: V4L2Node, _ shared: [DMABuffer]) -> CInt {
    guard areShared else { return glp_v4l2_queue(node.descriptor, isMultiplanar, planeCount, index, nil) }
    guard Int(index) < shared.count else { return EINVAL }
    let buffer = shared[Int(index)]
    var shared = glp_v4l2_shared(descriptor: buffer.descriptor, length: UInt32(clamping: buffer.byteCount))
    return unsafe glp_v4l2_queue(node.descriptor, isMultiplanar, planeCount, index, &shared)
  }

  /// Stops the stream and takes all buffers from the driver. Leases stay readable.
  func stop() {
    guard let node = state.withLock({ $0.node.take() }) else { return }
    _ = glp_v4l2_stop(node.descriptor, isMultiplanar, areShared)
    state.withLock { $0.shared = [] }
  }

  /// Returns the next filled buffer; nil if there is none now.
  func dequeue() throws(V4L2Error) -> glp_v4l2_buffer? {
    guard let node = state.withLock({ $0.node }) else { throw V4L2Error(activity: "streaming", code: EBADF) }
    var buffer = glp_v4l2_buffer()
    switch unsafe glp_v4l2_dequeue(node.descriptor, isMultiplanar, areShared, planeCount, &buffer) {
    case 0: return Int(buffer.index) < count ? buffer : nil
    case EAGAIN: return nil
    case let code: throw V4L2Error(activity: "taking a picture", code: code)
    }
  }

  /// Returns a buffer to the driver, unless the stream is stopped.
  func queue(_ index: UInt32) {
    state.withLock { state in
      guard let node = state.node else { return }
      // If the driver refuses it, the stream has failed, and its reader is about to get the error.
      _ = queue(index, on: node, state.shared)
    }
  }

  /// Returns a lease of a filled buffer, which lasts until it is released; nil if the driver would have too
  /// few buffers left.
  func lend(_ buffer: glp_v4l2_buffer) -> V4L2Lease? {
    let isLent = state.withLock { state in
      guard count - state.lent - 1 >= Self.leastQueued else { return false }
      state.lent += 1
      return true
    }
    return isLent ? V4L2Lease(self, buffer) : nil
  }

  fileprivate func giveBack(_ index: UInt32) {
    state.withLock { $0.lent -= 1 }
    queue(index)
  }

  /// Calls `body` with the picture's bytes in each memory plane.
  func withBytes<Result>(
    _ buffer: glp_v4l2_buffer, _ body: ([UnsafeRawBufferPointer]) throws -> Result
  ) rethrows -> Result {
    guard areShared else { return try unsafe mappings[Int(buffer.index)].withBytes(buffer, body) }
    // Once stopped, only frames hold their buffers.
    guard let memory = shared(buffer) else {
      return try unsafe body([UnsafeRawBufferPointer(start: nil, count: 0)])
    }
    return try unsafe memory.withBytes { bytes in
      let plane = buffer.planes.0
      let end = min(Int(plane.bytes_used), bytes.count)
      return try unsafe body([
        UnsafeRawBufferPointer(rebasing: bytes[min(Int(plane.data_offset), end)..<end])
      ])
    }
  }

  /// The other device's buffer that a picture is in; nil for the driver's own.
  fileprivate func shared(_ buffer: glp_v4l2_buffer) -> DMABuffer? {
    state.withLock { Int(buffer.index) < $0.shared.count ? $0.shared[Int(buffer.index)] : nil }
  }
}

/// A borrowed buffer, which returns to the driver when its last holder releases it.
final class V4L2Lease: Sendable {
  private let buffers: V4L2Buffers
  private let buffer: glp_v4l2_buffer

  fileprivate init(_ buffers: V4L2Buffers, _ buffer: glp_v4l2_buffer) {
    self.buffers = buffers
    self.buffer = buffer
  }

  deinit { buffers.giveBack(buffer.index) }

  func withBytes<Result>(_ body: ([UnsafeRawBufferPointer]) throws -> Result) rethrows -> Result {
    try unsafe buffers.withBytes(buffer, body)
  }

  /// The memory of a frame of `byteCount` bytes in another device's buffer, which holds this lease; nil if the buffer is the
  /// driver's own.
  func shared(_ byteCount: Int) -> SharedFrameMemory? {
    guard let memory = buffers.shared(buffer) else { return nil }
    return SharedFrameMemory(memory, byteCount: start + byteCount, holding: self)
  }

  /// Where the picture begins in its buffer.
  var start: Int { Int(buffer.planes.0.data_offset) }
}

/// The mapped memory of one buffer. It stays valid when the stream stops and the device is closed or
/// unplugged, because the kernel keeps mapped memory.
private final class V4L2Mapping: Sendable {
  /// The address and length of each plane. Addresses are numbers because pointers are not `Sendable`.
  private let planes: [(address: UInt, length: UInt32)]

  init(_ node: V4L2Node, planeCount: UInt32, index: UInt32) throws(V4L2Error) {
    var buffer = glp_v4l2_buffer()
    try V4L2Error.check(
      unsafe glp_v4l2_query_buffer(node.descriptor, node.isMultiplanar, planeCount, index, &buffer),
      "requesting a buffer")
    var planes: [(address: UInt, length: UInt32)] = []
    for plane in buffer.memoryPlanes {
      var memory: UnsafeMutableRawPointer?
      let code = unsafe glp_v4l2_map(node.descriptor, plane.offset, plane.length, &memory)
      guard code == 0 else {
        for plane in planes {
          unsafe glp_v4l2_unmap(UnsafeMutableRawPointer(bitPattern: plane.address), plane.length)
        }
        throw V4L2Error(activity: "mapping a buffer", code: code)
      }
      planes.append((UInt(bitPattern: memory), plane.length))
    }
    self.planes = planes
  }

  deinit {
    for plane in planes {
      unsafe glp_v4l2_unmap(UnsafeMutableRawPointer(bitPattern: plane.address), plane.length)
    }
  }

  func withBytes<Result>(
    _ buffer: glp_v4l2_buffer, _ body: ([UnsafeRawBufferPointer]) throws -> Result
  ) rethrows -> Result {
    let all = unsafe zip(planes, buffer.memoryPlanes).map { plane, filled in
      let bytes = unsafe UnsafeRawBufferPointer(
        start: UnsafeRawPointer(bitPattern: plane.address), count: Int(plane.length))
      let end = min(Int(filled.bytes_used), bytes.count)
      return unsafe UnsafeRawBufferPointer(rebasing: bytes[min(Int(filled.data_offset), end)..<end])
    }
    return try unsafe body(all)
  }
}

extension glp_v4l2_format {
  var memoryPlanes: ArraySlice<glp_v4l2_plane_format> {
    [planes.0, planes.1, planes.2, planes.3].prefix(Int(plane_count))
  }
}

extension glp_v4l2_buffer {
  fileprivate var memoryPlanes: ArraySlice<glp_v4l2_buffer_plane> {
    [planes.0, planes.1, planes.2, planes.3].prefix(Int(plane_count))
  }
}
