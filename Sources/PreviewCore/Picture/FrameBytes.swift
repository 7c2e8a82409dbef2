// A frame's samples in memory: an array, or memory borrowed from a pool.

/// Memory that a frame borrows from a pool. It can be reused once no frame holds it.
package protocol LentMemory: AnyObject, Sendable {
  var byteCount: Int { get }
  /// Whether its only holder may change it.
  var isWritable: Bool { get }

  /// All bytes as an array; a copy unless the memory is an array.
  var array: [UInt8] { get }

  func withSpan<Result, Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Result) throws(Failure)
    -> Result

  /// Lets `body` change the bytes. The caller must be the only holder, and the memory writable.
  func withMutableSpan<Result, Failure: Error>(
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result
}

extension LentMemory {
  package var isWritable: Bool { true }
}

/// Bytes with copy-on-write: they do not change while another copy exists.
package struct FrameBytes: Sendable {
  private enum Storage {
    case array([UInt8])
    case lent(any LentMemory)
  }

  private var storage: Storage
  /// Identifies these bytes: shared by all copies, replaced after each change.
  private(set) var token = Token()

  final class Token: Sendable {}

  package init(_ array: [UInt8]) { storage = .array(array) }

  /// Wraps borrowed memory, which must not be written any more.
  package init(_ memory: some LentMemory) { storage = .lent(memory) }

  package var count: Int {
    switch storage {
    case .array(let array): array.count
    case .lent(let memory): memory.byteCount
    }
  }

  /// The borrowed memory; nil if the bytes are an array.
  package var memory: (any LentMemory)? {
    if case .lent(let memory) = storage { memory } else { nil }
  }

  package func withSpan<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    switch storage {
    case .array(let array): try body(array.span)
    case .lent(let memory): try memory.withSpan(body)
    }
  }

  /// Lets `body` change the bytes: in place if this is the only holder, otherwise in a copy.
  package mutating func withMutableSpan<Result, Failure: Error>(
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    token = Token()
    let taken = storage
    // Release this reference, so that the bytes can have a single holder.
    storage = .array([])
    var array: [UInt8]
    switch consume taken {
    case .lent(var memory):
      if memory.isWritable, isHeldOnce(&memory) {
        defer { storage = .lent(memory) }
        return try memory.withMutableSpan(body)
      }
      array = memory.array
    case .array(let bytes): array = bytes
    }
    defer { storage = .array(array) }
    var span = array.mutableSpan
    return try body(&span)
  }

  /// All bytes as an array; a copy unless they are held as an array.
  package var array: [UInt8] {
    switch storage {
    case .array(let array): array
    case .lent(let memory): memory.array
    }
  }
}

private func isHeldOnce(_ memory: inout some LentMemory) -> Bool { isKnownUniquelyReferenced(&memory) }
