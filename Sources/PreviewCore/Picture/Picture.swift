// A rendered picture in memory: what a renderer hands back, and what an encoder takes.

/// How a picture's samples lie.
public enum PictureFormat: Sendable, Hashable, CustomStringConvertible {
  /// One plane of R, G, B, A bytes; A is 255.
  case rgba
  /// Three planes of bytes Y', Cb, Cr: JFIF's (BT.601, full range, chroma centred).
  case ycbcr(ChromaSubsampling)

  /// Every one there is.
  public static let allCases: [PictureFormat] = [.rgba] + ChromaSubsampling.allCases.map { .ycbcr($0) }

  /// `rgba`, `ycbcr420`, ...
  public var description: String {
    switch self {
    case .rgba: "rgba"
    case .ycbcr(let subsampling): "ycbcr\(subsampling.rawValue)"
    }
  }
}

/// The chroma subsampling of an encoded picture.
public enum ChromaSubsampling: String, Sendable, Hashable, CaseIterable {
  /// 4:2:0: a chroma sample for 2x2 pixels.
  case yuv420 = "420"
  /// 4:2:2: a chroma sample for 2x1 pixels.
  case yuv422 = "422"
  /// 4:4:4: a chroma sample for every pixel.
  case yuv444 = "444"

  /// Pixels to a chroma sample.
  package var subsampling: Subsampling {
    switch self {
    case .yuv420: Subsampling(x: 2, y: 2)
    case .yuv422: Subsampling(x: 2, y: 1)
    case .yuv444: .none
    }
  }
}

/// One plane of a picture.
public struct PicturePlane: Sendable, Hashable {
  /// Columns (of pixels for `rgba`, else of samples) and rows.
  public let size: Size
  /// Of its first sample in the picture's bytes.
  public let offset: Int
  /// From a row to the next.
  public let bytesPerRow: Int

  /// A plane of `size` from `offset` on.
  public init(size: Size, offset: Int, bytesPerRow: Int) {
    self.size = size
    self.offset = offset
    self.bytesPerRow = bytesPerRow
  }
}

/// Rows of samples, top row first.
public struct Picture: Sendable, Equatable {
  /// In pixels.
  public let size: Size
  /// How `bytes` are to be read.
  public let format: PictureFormat
  /// One for `rgba`, else three: Y', Cb, Cr.
  public let planes: [PicturePlane]
  /// The samples of all planes.
  public let bytes: [UInt8]
  /// What lives as long as the picture does; no part of its value.
  private var companion = Companion()

  private struct Companion: Sendable, Equatable {
    var object: (any AnyObject & Sendable)?

    static func == (one: Companion, other: Companion) -> Bool { true }
  }

  /// The same, holding `object` for as long as it is there: memory that is counted.
  package func holding(_ object: any AnyObject & Sendable) -> Picture {
    var picture = self
    picture.companion.object = object
    return picture
  }

  /// Takes `bytes` as they are; every plane must lie within them.
  public init(size: Size, format: PictureFormat, planes: [PicturePlane], bytes: [UInt8]) {
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

  /// A picture with no padding: `width * 4` bytes a row for `rgba`, `width` for a plane of Y'CbCr.
  public init(tight size: Size, format: PictureFormat, bytes: [UInt8]) {
    var offset = 0
    let planes = format.planeSizes(of: size).map { plane in
      let bytesPerRow = plane.width * format.bytesPerSample
      defer { offset += bytesPerRow * plane.height }
      return PicturePlane(size: plane, offset: offset, bytesPerRow: bytesPerRow)
    }
    self.init(size: size, format: format, planes: planes, bytes: bytes)
  }
}

extension PictureFormat {
  /// The size of each plane of a picture of `size`.
  public func planeSizes(of size: Size) -> [Size] {
    switch self {
    case .rgba: [size]
    case .ycbcr(let chroma):
      [size, chroma.subsampling.planeSize(of: size), chroma.subsampling.planeSize(of: size)]
    }
  }

  /// Bytes from a column of a plane to the next.
  package var bytesPerSample: Int { self == .rgba ? 4 : 1 }
}
