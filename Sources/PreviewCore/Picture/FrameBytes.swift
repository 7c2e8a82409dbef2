// A frame's samples in memory: an array of its own, or memory that is lent and goes back.

/// Memory that is lent to a frame, and can be lent again when nobody holds it any more.
package protocol LentMemory: AnyObject, Sendable {
  /// Its size.
  var byteCount: Int { get }

  /// All of it as an array: a copy, unless it is one.
  var array: [UInt8] { get }

  /// Shows `body` all of it.
  func withSpan<Result, Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Result) throws(Failure)
    -> Result

  /// Lets `body` change it: only for who alone holds it.
  func withMutableSpan<Result, Failure: Error>(
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result
}

/// Bytes that do not change while anybody else holds them.
package struct FrameBytes: Sendable {
  private enum Storage {
    case array([UInt8])
    case lent(any LentMemory)
  }

  private var storage: Storage
  /// The same in all copies, and in nothing else; another one after each change.
  private(set) var token = Token()

  /// Something that is there once.
  final class Token: Sendable {}

  /// Bytes of its own.
  package init(_ array: [UInt8]) { storage = .array(array) }

  /// Lent ones; `memory` must not be written any more.
  package init(_ memory: some LentMemory) { storage = .lent(memory) }

  /// How many there are.
  package var count: Int {
    switch storage {
    case .array(let array): array.count
    case .lent(let memory): memory.byteCount
    }
  }

  /// The lender's memory; nil where the bytes are an array.
  package var memory: (any LentMemory)? {
    if case .lent(let memory) = storage { memory } else { nil }
  }

  /// Shows `body` all of them.
  package func withSpan<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    switch storage {
    case .array(let array): try body(array.span)
    case .lent(let memory): try memory.withSpan(body)
    }
  }

  /// Lets `body` change all of them: in place where nobody else holds them, else in a copy of its own.
  package mutating func withMutableSpan<Result, Failure: Error>(
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    token = Token()
    let taken = storage
    // Taken out, so that there is one holder less.
    storage = .array([])
    var array: [UInt8]
    switch consume taken {
    case .lent(var memory):
      if isHeldOnce(&memory) {
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

  /// All of them as an array: a copy where they are lent and not an array there.
  package var array: [UInt8] {
    switch storage {
    case .array(let array): array
    case .lent(let memory): memory.array
    }
  }
}

private func isHeldOnce(_ memory: inout some LentMemory) -> Bool { isKnownUniquelyReferenced(&memory) }
