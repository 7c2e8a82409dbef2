// The memory between the steps of a drawing: taken for a drawing, kept for the next.
internal import CPixels
internal import Synchronization

/// Memory for one thread at a time, aligned for vectors.
@safe final class Scratch: Sendable {
  let byteCount: Int
  nonisolated(unsafe) let memory: UnsafeMutableRawPointer

  fileprivate init(_ byteCount: Int) {
    self.byteCount = byteCount
    unsafe memory = .allocate(byteCount: byteCount, alignment: 64)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
  }

  deinit { unsafe memory.deallocate() }
}

final class ScratchPool: Sendable {
  private let idle = Mutex<[Scratch]>([])

  /// The most bytes that are kept.
  private static let mostIdle = 16 << 20

  func with<Result>(_ byteCount: Int, _ body: (Scratch) throws -> Result) rethrows -> Result {
    let scratch =
      idle.withLock { idle in
        idle.firstIndex { $0.byteCount >= byteCount }.map { idle.remove(at: $0) }
      } ?? Scratch(byteCount)
    defer {
      idle.withLock { idle in
        let kept = idle.reduce(scratch.byteCount) { $0 + $1.byteCount }
        if kept <= ScratchPool.mostIdle { idle.append(scratch) }
      }
    }
    return try body(scratch)
  }

  var byteCount: Int { idle.withLock { $0.reduce(0) { $0 + $1.byteCount } } }

  func removeAll() { idle.withLock { $0.removeAll() } }
}
