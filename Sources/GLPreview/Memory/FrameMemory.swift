// Bytes that may be somebody else's for a while: a lock sees to it that nobody is at them when they go.
internal import Synchronization

/// Bytes of the process's, or of a buffer of the GPU's for as long as that lives.
final class FrameMemory: Sendable {
  let byteCount: Int
  /// Its part of a budget; nil of what is somebody else's.
  private let lease: MemoryLease?
  private let content: Mutex<Content>

  private enum Content: Sendable {
    case own([UInt8])
    case lent(LentBytes)
  }

  /// Somebody else's bytes; who has them sees to it that they live, and the lock that one at a time is at them.
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

  /// Bytes of its own; what is in them is not defined.
  init(byteCount: Int, _ lease: MemoryLease? = nil) {
    self.byteCount = byteCount
    self.lease = lease
    // Not filled: a header may promise more than ever comes.
    content = unsafe Mutex(.own([UInt8](unsafeUninitializedCapacity: byteCount) { $1 = byteCount }))
  }

  /// Memory that lives until `detach()`.
  @unsafe init(lending memory: UnsafeMutableRawBufferPointer) {
    self.byteCount = memory.count
    lease = nil
    content = unsafe Mutex(.lent(LentBytes(memory)))
  }

  /// Whether the bytes are somebody else's.
  var isLent: Bool {
    content.withLock { if case .lent = $0 { true } else { false } }
  }

  /// Copies what is lent, so that the lender may end; waits for who is reading or writing.
  func detach() {
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
        // Taken out, so that it is not copied.
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
