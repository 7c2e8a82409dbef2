// Plain libjpeg-turbo, the baseline for our codecs in `glpreview bench`.
internal import CJPEGBaseline
package import GLPreview

/// Decodes and encodes with the library's own calls and reused memory. The output is discarded.
@safe package final class JPEGBaseline {
  private let baseline: OpaquePointer

  /// The version of the libjpeg headers at build time.
  package static var libraryVersion: String { unsafe String(cString: glp_jpeg_library_version()) }

  /// Creates a baseline without picture memory.
  ///
  /// - Throws: `CodecError` if memory runs out.
  package init() throws(CodecError) {
    guard let baseline = unsafe glp_jpeg_baseline_create() else {
      throw CodecError(.damaged, "out of memory")
    }
    unsafe self.baseline = baseline
  }

  deinit { unsafe glp_jpeg_baseline_destroy(baseline) }

  /// Decodes a Y'CbCr JPEG to planes.
  ///
  /// - Throws: `CodecError` if libjpeg fails.
  package func decode(_ data: [UInt8]) throws(CodecError) {
    let isDone = unsafe data.withUnsafeBufferPointer {
      unsafe glp_jpeg_baseline_decode(baseline, $0.baseAddress, $0.count)
    }
    guard isDone else { throw CodecError(.damaged, "libjpeg-turbo does not decode this JPEG to planes") }
  }

  /// Encodes a picture that is padded to whole blocks, and returns the number of bytes.
  ///
  /// - Throws: `CodecError` if libjpeg fails.
  @discardableResult
  package func encode(_ picture: JPEGBlocks, quality: Int) throws(CodecError) -> Int {
    let count = unsafe picture.bytes.withUnsafeBufferPointer { bytes -> Int in
      guard let start = bytes.baseAddress else { return 0 }
      let planes = unsafe picture.offsets.map { unsafe Optional(start + $0) }
      return unsafe glp_jpeg_baseline_encode(
        baseline, CInt(picture.size.width), CInt(picture.size.height), CInt(quality), planes,
        picture.bytesPerRow)
    }
    guard count > 0 else { throw CodecError(.unsupported, "libjpeg-turbo does not encode this picture") }
    return count
  }
}

/// A 4:2:0 picture padded to whole blocks, so that libjpeg can read it in place.
package struct JPEGBlocks: Sendable {
  fileprivate let size: Size
  fileprivate let bytes: [UInt8]
  fileprivate let offsets: [Int]
  fileprivate let bytesPerRow: [Int]

  /// Copies `picture` and pads each row with its last sample.
  ///
  /// - Throws: `CodecError` if it has another format.
  package init(_ picture: Picture) throws(CodecError) {
    guard picture.format == .ycbcr(.yuv420), picture.planes.count == 3 else {
      throw CodecError(.unsupported, "the baseline is for 4:2:0, not for \(picture.format)")
    }
    var bytes: [UInt8] = []
    var offsets: [Int] = []
    var bytesPerRow: [Int] = []
    for plane in picture.planes {
      let row = (plane.size.width + 7) & ~7
      offsets.append(bytes.count)
      bytesPerRow.append(row)
      for y in 0..<plane.size.height {
        let start = plane.offset + y * plane.bytesPerRow
        let end = start + plane.size.width
        bytes += picture.bytes[start..<end]
        bytes += repeatElement(picture.bytes[end - 1], count: row - plane.size.width)
      }
    }
    size = picture.size
    self.bytes = bytes
    self.offsets = offsets
    self.bytesPerRow = bytesPerRow
  }
}
