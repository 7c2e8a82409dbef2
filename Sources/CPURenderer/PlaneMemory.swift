// Where drawings read and write.
internal import CPixels
internal import PreviewCore

/// A plane of a picture that is drawn. The memory belongs to the picture, or to `owner`.
@safe struct PlaneMemory {
  let bytes: UnsafeMutablePointer<UInt8>
  let stride: Int
  private let owner: Owner?

  @safe private final class Owner {
    let memory: UnsafeMutablePointer<UInt8>

    init(_ count: Int) { unsafe memory = .allocate(capacity: count) }

    deinit { unsafe memory.deallocate() }
  }

  /// Takes a place in memory that outlives this value.
  init(_ bytes: UnsafeMutablePointer<UInt8>, stride: Int) {
    unsafe (self.bytes, self.stride, owner) = unsafe (bytes, stride, nil)
  }

  /// Allocates rows.
  init(bytesPerRow: Int, rows: Int) {
    let owner = Owner(max(bytesPerRow * rows, 1))
    unsafe (bytes, stride, self.owner) = unsafe (owner.memory, bytesPerRow, owner)
  }

  /// Copies rows from other memory.
  func copy(_ other: PlaneMemory, bytesPerRow: Int, rows: Int) {
    for row in 0..<rows {
      unsafe (bytes + row * stride).update(from: other.bytes + row * other.stride, count: bytesPerRow)
    }
  }
}

/// The planes that drawings read.
@safe struct FramePlanes {
  private let planes: [pixels_plane]
  let areWords: Bool

  /// The planes of a frame, whose samples are in `memory`.
  init(_ frame: Frame, _ memory: UnsafePointer<UInt8>) {
    areWords = frame.format.pixelFormat.isWide
    unsafe planes = unsafe frame.planes.map { plane in
      unsafe pixels_plane(
        bytes: memory + plane.offset,
        stride: plane.bytesPerRow)
    }
  }

  /// One plane of four words a pixel.
  init(words: UnsafePointer<UInt16>, stride: Int) {
    areWords = true
    unsafe planes = unsafe [
      pixels_plane(bytes: UnsafeRawPointer(words).assumingMemoryBound(to: UInt8.self), stride: stride)
    ]
  }

  func plane(_ index: Int) -> pixels_plane { unsafe planes[index] }
}
