// Identifies unsupported formats by their first bytes, so that an error can name the format.

/// A well-known file format that GLPreview itself does not read.
struct UnsupportedFormat: Sendable, Hashable {
  /// The format with its article: "a WebP picture".
  let name: String

  /// Nil if `start`, the first 16 bytes, has none of the known signatures. Files that FFmpeg can open are
  /// read nevertheless, because a video's container may hold such pictures.
  init?(startingWith start: [UInt8]) {
    let name = Self.brand(start).flatMap { Self.brands[$0] }
    guard let name = name ?? Self.signatures.first(where: { $0.matches(start) })?.name else { return nil }
    self.name = name
  }

  /// The error message for a file of this format.
  var refusal: String {
    "is \(name), which is not supported: use JPEG, PNG, Y4M or a video"
  }

  /// Returns the major brand of an ISO base media file (ISO/IEC 14496-12, 4.3).
  private static func brand(_ start: [UInt8]) -> String? {
    guard start.count >= 12, start[4..<8].elementsEqual("ftyp".utf8) else { return nil }
    return String(decoding: start[8..<12], as: UTF8.self)
  }

  private static let brands = [
    "heic": "an HEIC picture", "heix": "an HEIC picture", "heim": "an HEIC picture",
    "heis": "an HEIC picture", "hevc": "an HEIC picture", "hevx": "an HEIC picture",
    "mif1": "an HEIF picture", "msf1": "an HEIF picture", "crx ": "a camera's raw picture (CR3)",
  ]

  /// A signature: bytes at one or two offsets.
  private struct Signature: Sendable {
    let name: String
    let parts: [(offset: Int, bytes: [UInt8])]

    init(_ name: String, _ bytes: [UInt8]) {
      self.name = name
      parts = [(0, bytes)]
    }

    init(_ name: String, _ text: String, then second: (offset: Int, bytes: [UInt8])? = nil) {
      self.name = name
      parts = [(0, Array(text.utf8))] + (second.map { [$0] } ?? [])
    }

    func matches(_ start: [UInt8]) -> Bool {
      parts.allSatisfy { start.dropFirst($0.offset).starts(with: $0.bytes) }
    }
  }

  private static let signatures = [
    Signature("a WebP picture", "RIFF", then: (8, Array("WEBP".utf8))),
    Signature("a TIFF picture, or a camera's raw picture", [0x49, 0x49, 0x2A, 0]),
    Signature("a TIFF picture, or a camera's raw picture", [0x4D, 0x4D, 0, 0x2A]),
    Signature("a TIFF picture", [0x49, 0x49, 0x2B, 0]),
    Signature("a TIFF picture", [0x4D, 0x4D, 0, 0x2B]),
    // Including the reserved bytes.
    Signature("a BMP picture", "BM", then: (6, [0, 0, 0, 0])),
    Signature("a JPEG XL picture", [0xFF, 0x0A]),
    Signature("a JPEG XL picture", [0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20]),
    Signature("a JPEG 2000 picture", [0, 0, 0, 12, 0x6A, 0x50, 0x20, 0x20]),
    Signature("a JPEG 2000 picture", [0xFF, 0x4F, 0xFF, 0x51]),
    Signature("a Photoshop picture", "8BPS"),
    Signature("an OpenEXR picture", [0x76, 0x2F, 0x31, 0x01]),
    Signature("a Radiance picture", "#?RADIANCE"),
    Signature("a QOI picture", "qoif"),
    Signature("a PPM picture", "P6\n"), Signature("a PGM picture", "P5\n"),
    Signature("a camera's raw picture (RAF)", "FUJIFILMCCD-RAW"),
    Signature("an SVG drawing", "<svg"),
    Signature("a web page", "<!DOCTYPE html"), Signature("a web page", "<!doctype html"),
    Signature("a web page", "<html"),
    Signature("a PDF document", "%PDF"), Signature("a ZIP archive", [0x50, 0x4B, 3, 4]),
    Signature("compressed by gzip", [0x1F, 0x8B, 8]),
  ]
}
