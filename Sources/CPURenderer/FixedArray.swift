// Tables for C, in memory that does not move.

/// An array whose address is valid as long as this object.
@safe final class FixedArray<Element: BitwiseCopyable & Sendable>: Sendable {
  nonisolated(unsafe) let pointer: UnsafePointer<Element>

  let byteCount: Int

  init(_ elements: [Element]) {
    byteCount = elements.count * MemoryLayout<Element>.stride
    let memory = UnsafeMutablePointer<Element>.allocate(capacity: max(elements.count, 1))
    for (index, element) in elements.enumerated() { unsafe (memory + index).initialize(to: element) }
    unsafe pointer = UnsafePointer(memory)
  }

  deinit { unsafe pointer.deallocate() }
}
