// Memory that devices share (Linux's dma-buf): a camera fills it, a GPU reads it in place, and the process reads it where it needs
// the samples in memory.
internal import CDMABuffer
internal import Glibc
package import PreviewCore

/// A buffer of a device, mapped into this process for reading.
@safe package final class DMABuffer: Sendable {
  /// Its file, which this object owns.
  package let descriptor: CInt
  package let byteCount: Int
  /// A number because pointers are not `Sendable`.
  private let address: UInt

  /// Maps a buffer and takes ownership of its file; on failure the file is closed too.
  ///
  /// - Throws: `Failure`, with errno.
  package init(owning descriptor: CInt, byteCount: Int) throws(Failure) {
    // Drivers may give files that can't be mapped for writing.
    let memory = unsafe mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0)
    guard let memory = unsafe memory, unsafe memory != MAP_FAILED else {
      let code = errno
      close(descriptor)
      throw Failure(code: code)
    }
    (self.descriptor, self.byteCount, address) = (descriptor, byteCount, UInt(bitPattern: memory))
  }

  deinit {
    unsafe munmap(UnsafeMutableRawPointer(bitPattern: address), byteCount)
    close(descriptor)
  }

  package struct Failure: Error, Hashable {
    package let code: CInt
  }

  /// Lets `body` read, between the two calls that keep caches and devices in step. No device may write meanwhile.
  @unsafe package func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    _ = glp_dma_buffer_sync(descriptor, true)
    defer { _ = glp_dma_buffer_sync(descriptor, false) }
    return unsafe try body(
      UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: byteCount))
  }
}

/// A frame's memory in a device's buffer. The buffer returns to the device when the last holder releases this.
package final class SharedFrameMemory: LentMemory {
  package let buffer: DMABuffer
  package let byteCount: Int
  /// Returns the buffer when it is released.
  private let lease: any Sendable

  /// The first `byteCount` bytes of a buffer.
  package init(_ buffer: DMABuffer, byteCount: Int, holding lease: any Sendable) {
    (self.buffer, self.byteCount, self.lease) = (buffer, min(byteCount, buffer.byteCount), lease)
  }

  package var isWritable: Bool { false }

  package var array: [UInt8] { unsafe buffer.withBytes { unsafe [UInt8]($0[..<byteCount]) } }

  package func withSpan<Result, Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Result)
    throws(Failure) -> Result
  {
    try unsafe buffer.withBytes { bytes throws(Failure) in
      try unsafe body(Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[..<byteCount])))
    }
  }

  package func withMutableSpan<Result, Failure: Error>(
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    preconditionFailure("a camera's buffer can't be written")
  }
}

/// Makes buffers that a camera fills and a renderer reads in place.
package protocol BufferSharing: AnyObject, Sendable {
  /// Makes `count` buffers of at least `byteCount` bytes, for frames of `format` with these planes.
  ///
  /// - Throws: an error whose description says why the renderer can't read such frames in place.
  func makeBuffers(
    _ count: Int, of byteCount: Int, for format: Frame.Format, _ planes: [Frame.Plane]
  ) async throws -> [DMABuffer]
}
