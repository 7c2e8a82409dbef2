// Outgoing datagrams of the port: written one after another into one buffer, and sent with few system calls.
internal import CWebRTC
internal import Glibc
internal import NIOCore

/// An address that datagrams go to, in the form that the kernel takes.
final class DatagramPath {
  let address: SocketAddress
  fileprivate var form = glp_datagrams()

  /// `takesSegments` is whether several datagrams may be handed to the kernel as one message (`UDP_SEGMENT`).
  init(_ address: SocketAddress, takesSegments: Bool = true) {
    self.address = address
    form.takes_segments = takesSegments
    unsafe address.withSockAddr { pointer, count in
      let bytes = unsafe UnsafeRawBufferPointer(start: pointer, count: min(count, Int(GLP_ADDRESS_BYTES)))
      unsafe withUnsafeMutableBytes(of: &form.address) { unsafe $0.copyMemory(from: bytes) }
      form.address_bytes = UInt32(bytes.count)
    }
  }

  /// False once the kernel has refused segments for this address.
  var takesSegments: Bool { form.takes_segments }
}

/// The datagrams that a port sends; used on its event loop.
///
/// It sends by itself, and not by NIO: a `DatagramChannel` closes itself at the first address that can't be
/// reached (any error but EMSGSIZE and EHOSTUNREACH), and all sessions share the port.
@safe final class DatagramOutbox {
  private let socket: CInt
  private let memory: UnsafeMutableRawBufferPointer
  private var used = 0
  private var batches: [glp_datagrams] = []
  private var paths: [DatagramPath] = []
  /// Whether the kernel accepts no more now; `flush` tries again.
  private(set) var isBlocked = false
  /// The number of messages that the kernel has refused.
  private(set) var refused = 0

  private static let capacity = 256 << 10
  /// The most packets of a batch: the kernel takes 64 segments, and less than 64 KB.
  static let mostPackets = 50

  /// Sends by a copy of a socket's descriptor. With -1, nothing is sent.
  init(_ descriptor: CInt) {
    socket = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    unsafe memory = .allocate(byteCount: Self.capacity, alignment: 16)
  }

  deinit {
    if socket >= 0 { close(socket) }
    unsafe memory.deallocate()
  }

  /// Whether there is room for so many bytes. Sends what waits if there is not.
  private func hasRoom(_ count: Int) -> Bool {
    if used + count <= Self.capacity { return true }
    flush()
    return used + count <= Self.capacity
  }

  /// Adds a datagram. It is lost if the kernel accepts no more.
  func add(_ bytes: ByteBuffer, to path: DatagramPath) {
    let count = bytes.readableBytes
    guard count > 0, hasRoom(count) else { return }
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + count])
      .copyBytes(from: bytes.readableBytesView)
    append(count, segment: count, path)
  }

  /// Adds packets of a picture, protected by SRTP.
  ///
  /// - Returns: the number of their bytes; 0 if libsrtp refuses a packet; nil if there is no room now.
  func add(
    _ run: RTPPicture.Run, of picture: RTPPicture, _ header: RTPHeader, by srtp: SRTPContext,
    to path: DatagramPath
  ) -> Int? {
    let most = run.count + run.packets * RTPHeader.mostBytes + (run.packets + 1) * SRTPContext.trailerBytes
    guard hasRoom(most) else { return nil }
    let room = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + most])
    let count = unsafe srtp.write(run, of: picture, header, into: room)
    guard count > 0 else { return 0 }
    // Protection makes all packets longer by the same amount.
    append(count, segment: run.packets == 1 ? count : run.length + (count - run.count) / run.packets, path)
    return count
  }

  private func append(_ count: Int, segment: Int, _ path: DatagramPath) {
    var batch = path.form
    (batch.offset, batch.count, batch.segment) = (UInt32(used), UInt32(count), UInt32(segment))
    batches.append(batch)
    paths.append(path)
    used += count
  }

  /// Sends what was added. What the kernel does not accept now remains for the next call.
  func flush() {
    guard !batches.isEmpty else { return isBlocked = false }
    let bytes = unsafe memory.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let sent = unsafe glp_datagrams_send(socket, bytes, &batches, batches.count)
    refused += sent.refused
    for (batch, path) in zip(batches, paths) where !batch.takes_segments && path.form.takes_segments {
      path.form.takes_segments = false
    }
    isBlocked = sent.is_blocked
    if isBlocked {
      batches.removeFirst(sent.batches)
      paths.removeFirst(sent.batches)
    } else {
      batches.removeAll(keepingCapacity: true)
      paths.removeAll(keepingCapacity: true)
      used = 0
    }
  }
}
