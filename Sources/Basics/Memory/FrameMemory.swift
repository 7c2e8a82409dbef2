// Memory of a frame, which may be borrowed from the GPU. A lock ensures that no one uses borrowed memory
// while its owner takes it back.
internal import Synchronization

/// Bytes owned by the process, or by a GPU buffer while it exists.
package final class FrameMemory: Sendable {
  package let byteCount: Int
  /// The reservation in a memory budget; nil for borrowed memory.
  private let lease: MemoryLease?
  private let content: Mutex<Content>

  private enum Content: Sendable {
    case own([UInt8])
    case lent(LentBytes)
  }

  /// Borrowed bytes. Their owner keeps them alive, and the lock allows one user at a time.
  private struct LentBytes {
    private let address: UInt
    private let count: Int

    init(_ bytes: UnsafeMutableRawBufferPointer) {
      address = UInt(bitPattern: bytes.baseAddress)
      count = bytes.count
    }

    var all: UnsafeMutableRawBufferPointer {
      unsafe UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(bitPattern: address), count: count)
    }
  }

  init(byteCount: Int, _ lease: MemoryLease?) {
    self.byteCount = byteCount
    self.lease = lease
    // Not zero-filled, because a header may announce more bytes than ever arrive.
    content = unsafe Mutex(.own([UInt8](unsafeUninitializedCapacity: byteCount) { $1 = byteCount }))
  }

  /// Uses memory that stays valid until `detach()`.
  @unsafe package init(lending memory: UnsafeMutableRawBufferPointer) {
    self.byteCount = memory.count
    lease = nil
    content = unsafe Mutex(.lent(LentBytes(memory)))
  }

  var isLent: Bool {
    content.withLock { if case .lent = $0 { true } else { false } }
  }

  /// Copies borrowed memory, so that its owner can release it. Waits for current readers and writers.
  package func detach() {
    content.withLock { content in
      if case .lent(let bytes) = content { content = unsafe .own([UInt8](bytes.all)) }
    }
  }

  var array: [UInt8] {
    content.withLock { content in
      switch content {
      case .own(let array): array
      case .lent(let bytes): unsafe [UInt8](bytes.all)
      }
    }
  }

  func withSpan<Result, Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    var result: Result?
    try content.withLock { content throws(Failure) in
      switch content {
      case .own(let array): result = try body(array.span)
      case .lent(let bytes): result = unsafe try body(Span(_unsafeBytes: UnsafeRawBufferPointer(bytes.all)))
      }
    }
    guard let result else { preconditionFailure("a body that does not throw has a result") }
    return result
  }

  @unsafe func write<Result, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var result: Result?
    try content.withLock { content throws(Failure) in
      switch content {
      case .own(var array):
        // Moved out of the enum, so that it is not copied.
        content = .own([])
        defer { content = .own(array) }
        var span = array.mutableSpan
        result = try unsafe span.withUnsafeMutableBytes { bytes throws(Failure) in try unsafe body(bytes) }
      case .lent(let bytes): result = unsafe try body(bytes.all)
      }
    }
    guard let result else { preconditionFailure("a body that does not throw has a result") }
    return result
  }
}
