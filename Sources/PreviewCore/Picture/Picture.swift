// Pictures in memory: a renderer's result, which is an encoder's input, and bitmaps made by the program.

/// A rendered picture, top row first.
public struct Picture: Sendable, Equatable {
  /// One plane of a picture.
  public struct Plane: Sendable, Hashable {
    /// Columns (pixels for `rgba`, otherwise samples) and rows.
    public let size: Size
    /// The byte offset of its first sample in the picture.
    public let offset: Int
    /// Bytes from one row to the next.
    public let bytesPerRow: Int

    package init(size: Size, offset: Int, bytesPerRow: Int) {
      self.size = size
      self.offset = offset
      self.bytesPerRow = bytesPerRow
    }
  }

  /// The size in pixels.
  public let size: Size
  /// The layout of `bytes`.
  public let format: Format
  /// One plane for `rgba`; Y', Cb and Cr otherwise. None if only the scan is known.
  public let planes: [Plane]
  /// The samples of all planes.
  public let bytes: [UInt8]
  /// The picture coded as JPEG, if the renderer did that.
  package private(set) var scan: Scan?
  /// An object kept alive with the picture; not part of its value.
  private var companion = Companion()

  private struct Companion: Sendable, Equatable {
    var object: (any AnyObject & Sendable)?

    static func == (one: Companion, other: Companion) -> Bool { true }
  }

  /// Returns a copy that also keeps `object` alive, such as a memory reservation.
  package func holding(_ object: any AnyObject & Sendable) -> Picture {
    var picture = self
    picture.companion.object = object
    return picture
  }

  /// The bytes of its samples and of its scan.
  package var byteCount: Int { bytes.count + (scan?.bytes.count ?? 0) }

  /// The entropy-coded data of a JPEG with the standard Huffman tables (T.81, Annex K): the bytes between the header of the
  /// scan and the end marker.
  package struct Scan: Sendable, Equatable {
    package let quality: Int
    package let bytes: [UInt8]
    /// The most bytes of the file, for which the quality was searched; nil if it was given.
    package let maximumBytes: Int?

    package init(quality: Int, bytes: [UInt8], maximumBytes: Int? = nil) {
      (self.quality, self.bytes, self.maximumBytes) = (quality, bytes, maximumBytes)
    }
  }

  /// Creates a picture of which only the scan is known.
  package init(size: Size, format: Format, scan: Scan) {
    self.init(size: size, format: format, planes: [], bytes: [])
    self.scan = scan
  }

  /// Returns a copy that also has a scan.
  package func with(_ scan: Scan) -> Picture {
    var picture = self
    picture.scan = scan
    return picture
  }

  /// Creates a picture over `bytes`. Every plane must lie within them.
  package init(size: Size, format: Format, planes: [Plane], bytes: [UInt8]) {
    precondition(
      planes.allSatisfy {
        let lastRow = $0.offset + $0.bytesPerRow * ($0.size.height - 1)
        return lastRow + $0.size.width * format.bytesPerSample <= bytes.count
      },
      "a picture's planes lie within its bytes")
    self.size = size
    self.format = format
    self.planes = planes
    self.bytes = bytes
  }

  /// Creates a picture without padding: `width * 4` bytes a row for `rgba`, `width` for each Y'CbCr plane.
  public init(tight size: Size, format: Format, bytes: [UInt8]) {
    var offset = 0
    let planes = format.planeSizes(of: size).map { plane in
      let bytesPerRow = plane.width * format.bytesPerSample
      defer { offset += bytesPerRow * plane.height }
      return Plane(size: plane, offset: offset, bytesPerRow: bytesPerRow)
    }
    self.init(size: size, format: format, planes: planes, bytes: bytes)
  }
}

extension Picture {
  /// The sample layout of a picture.
  public enum Format: Sendable, Hashable, CustomStringConvertible {
    /// One plane of R, G, B, A bytes; A is 255.
    case rgba
    /// Three byte planes Y', Cb, Cr: BT.601, chroma centred. Full range is JFIF's; limited range is for
    /// video.
    case ycbcr(ChromaSubsampling, ColorDescription.QuantizationRange = .full)

    /// The format that video encoders take.
    package static let video = Format.ycbcr(.yuv420, .limited)

    /// The formats that encoders and files take.
    package static let allCases: [Format] =
      [.rgba] + ChromaSubsampling.allCases.map { .ycbcr($0) } + [.video]

    /// `rgba`, `ycbcr420`, `ycbcr420 limited`, ...
    public var description: String {
      switch self {
      case .rgba: "rgba"
      case .ycbcr(let subsampling, .full): "ycbcr\(subsampling.rawValue)"
      case .ycbcr(let subsampling, .limited): "ycbcr\(subsampling.rawValue) limited"
      }
    }

    /// Returns the size of each plane of a picture of `size`.
    package func planeSizes(of size: Size) -> [Size] {
      switch self {
      case .rgba: [size]
      case .ycbcr(let chroma, _):
        [size, chroma.subsampling.planeSize(of: size), chroma.subsampling.planeSize(of: size)]
      }
    }

    /// Bytes from one column of a plane to the next.
    package var bytesPerSample: Int { self == .rgba ? 4 : 1 }
  }

  /// The chroma subsampling of an encoded picture.
  public enum ChromaSubsampling: String, Sendable, Hashable, CaseIterable {
    /// 4:2:0: one chroma sample per 2x2 pixels.
    case yuv420 = "420"
    /// 4:2:2: one chroma sample per 2x1 pixels.
    case yuv422 = "422"
    /// 4:4:4: one chroma sample per pixel.
    case yuv444 = "444"

    /// Pixels per chroma sample.
    package var subsampling: Subsampling {
      switch self {
      case .yuv420: Subsampling(x: 2, y: 2)
      case .yuv422: Subsampling(x: 2, y: 1)
      case .yuv444: .none
      }
    }
  }
}

/// R', G', B' and straight (not premultiplied) alpha. Bitmaps compare by identity, so that a renderer can
/// find an uploaded texture without comparing bytes.
package final class Bitmap: Sendable, Hashable {
  /// The size in pixels.
  package let size: Size
  /// R, G, B, A; `width * 4` bytes a row, top row first.
  package let bytes: [UInt8]

  /// Creates a bitmap.
  ///
  /// - Throws: `Frame.LayoutError` if there are not `width * height * 4` bytes, or a side is not positive.
  package init(size: Size, bytes: [UInt8]) throws(Frame.LayoutError) {
    guard size.width > 0, size.height > 0, size.pixelCount < .max / 4, bytes.count == size.pixelCount * 4
    else {
      throw Frame.LayoutError("\(bytes.count) bytes are not a bitmap of \(size)")
    }
    self.size = size
    self.bytes = bytes
  }

  /// Returns whether both are the same object.
  package static func == (one: Bitmap, other: Bitmap) -> Bool { one === other }

  /// Hashes the object's identity.
  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
