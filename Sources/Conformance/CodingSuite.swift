// Pictures for devices that code JPEGs: their files must be, byte for byte, those of the CPU's encoder.
package import Codecs
package import PreviewCore

/// A picture to code.
package struct CodingCase: Sendable, CustomStringConvertible {
  package let frame: Frame
  package let chroma: Picture.ChromaSubsampling
  package let coding: PictureCoding

  package var description: String {
    let budget = coding.maximumBytes.map { " within \($0) bytes" } ?? ""
    return "\(frame.format.size), 4:\(chroma.rawValue), quality \(coding.quality)\(budget)"
  }

  /// The picture, coded, and once more as samples.
  package var requests: [ViewRequest] {
    let view = ViewConfiguration(name: "whole")
    return [
      ViewRequest(view, as: .ycbcr(chroma), coding: coding), ViewRequest(view, as: .ycbcr(chroma)),
    ]
  }

  /// Why the pictures of `requests` are wrong; nil if they are right. Within a budget, a picture need not be coded.
  package func mistake(in pictures: [Picture]) throws(CodecError) -> String? {
    guard pictures.count == 2, pictures[1].scan == nil else { return "is not two pictures" }
    let (coded, samples) = (pictures[0], pictures[1])
    guard coded.planes.isEmpty != coding.keepsSamples else { return "has samples, or none" }
    if coding.keepsSamples, !coded.hasSamples(of: samples) { return "has other samples" }
    guard let scan = coded.scan else {
      guard let budget = coding.scanBudget else { return "is not coded" }
      return try fits(samples, budget) ? "is not coded, although it fits" : nil
    }
    let encoder = JPEGEncoder(quality: scan.quality)
    let file = try encoder.wrap(scan, of: coded)
    guard try encoder.encode(samples) == file else { return "differs from libjpeg-turbo's" }
    guard let budget = coding.maximumBytes else {
      return scan.quality == coding.quality ? nil : "has quality \(scan.quality)"
    }
    guard file.count <= budget, scan.quality <= coding.quality else { return "is beyond its budget" }
    // Room is left for EXIF and for stuffing.
    let better = min(scan.quality + 1, coding.quality)
    guard better > scan.quality else { return nil }
    let larger = try JPEGEncoder(quality: better).encode(samples).count
    return larger + larger / 100 + 300 < budget ? "has quality \(scan.quality), where \(better) fits" : nil
  }

  /// Whether a device must find a quality for a budget. It chooses one before it knows how many bytes of 255 are followed by
  /// stuffing, and does not code the picture if these are too many.
  private func fits(_ samples: Picture, _ budget: Int) throws(CodecError) -> Bool {
    var chosen = 0
    for quality in (min(PictureCoding.lowestQuality, coding.quality)...coding.quality).reversed() {
      let scan = try Self.scan(JPEGEncoder(quality: quality).encode(samples))
      let stuffing = zip(scan, scan.dropFirst()).count { $0 == 0xFF && $1 == 0 }
      guard scan.count - stuffing + scan.count / 128 + 16 <= budget else { continue }
      guard scan.count <= budget else { return false }
      // Sizes of neighbouring qualities need not be in order, so the device may have chosen one of the next.
      chosen += 1
      if chosen == 3 { return true }
    }
    return chosen > 0
  }

  /// Returns the entropy-coded bytes of a file, which are after the segment SOS (T.81, B.2.3).
  private static func scan(_ file: [UInt8]) -> ArraySlice<UInt8> {
    var place = 2
    while place + 4 <= file.count {
      let next = place + 2 + Int(file[place + 2]) << 8 + Int(file[place + 3])
      guard file[place + 1] != 0xDA else { return file[min(next, file.count - 2)..<file.count - 2] }
      place = next
    }
    return []
  }
}

extension Picture {
  /// Whether its planes are those of another picture, whatever is between their rows.
  fileprivate func hasSamples(of other: Picture) -> Bool {
    planes.count == other.planes.count
      && zip(planes, other.planes).allSatisfy { plane, wanted in
        plane.size == wanted.size
          && (0..<plane.size.height).allSatisfy { row in
            let (start, place) = (
              plane.offset + row * plane.bytesPerRow, wanted.offset + row * wanted.bytesPerRow
            )
            return bytes[start..<start + plane.size.width]
              == other.bytes[place..<place + plane.size.width]
          }
      }
  }
}

/// The pictures to code.
package enum CodingSuite {
  private static let formats: [(Picture.ChromaSubsampling, PixelFormat)] = [
    (.yuv420, .i420), (.yuv422, .yuv422p), (.yuv444, .yuv444p),
  ]

  /// Random pictures of noise, slopes, edges and few colours, from one seed; every fourth with a budget.
  package static func cases(count: Int, seed: UInt64) throws(Frame.LayoutError) -> [CodingCase] {
    var random = SplitMix64(seed: seed)
    var cases: [CodingCase] = []
    for index in 0..<count {
      let (chroma, pixelFormat) = formats[index % formats.count]
      let size = Size(
        width: Int.random(in: 1...(index % 5 == 0 ? 20 : 300), using: &random),
        height: Int.random(in: 1...200, using: &random))
      let budget = index % 4 == 3 ? Int.random(in: 900...30_000, using: &random) : nil
      cases.append(
        CodingCase(
          frame: try frame(pixelFormat, size, &random), chroma: chroma,
          coding: PictureCoding(
            quality: Int.random(in: 1...100, using: &random), keepsSamples: Bool.random(using: &random),
            maximumBytes: budget)))
    }
    return cases
  }

  /// A picture of so many blocks that sums take several rounds; no side is longer than every device draws.
  package static var large: CodingCase {
    get throws(Frame.LayoutError) { try smooth(Size(width: 1600, height: 1200), quality: 93) }
  }

  /// A picture so large that dispatches have two dimensions.
  package static var largest: CodingCase {
    get throws(Frame.LayoutError) { try smooth(Size(width: 4100, height: 3000), quality: 75) }
  }

  private static func smooth(_ size: Size, quality: Int) throws(Frame.LayoutError) -> CodingCase {
    let frame = try Frame.synthetic(Frame.Format(.i420, size, color: .jfif), .smooth, seed: 1)
    return CodingCase(frame: frame, chroma: .yuv420, coding: PictureCoding(quality: quality))
  }

  private static func frame(
    _ pixelFormat: PixelFormat, _ size: Size, _ random: inout SplitMix64
  ) throws(Frame.LayoutError) -> Frame {
    let count = pixelFormat.planes.reduce(0) {
      $0 + $1.tightBytesPerRow(of: size) * $1.texels(of: size).height
    }
    let kind = Int.random(in: 0..<4, using: &random)
    let (slope, level) = (Int.random(in: 1..<9, using: &random), Int.random(in: 0..<256, using: &random))
    var bytes: [UInt8] = []
    for index in 0..<count {
      let noise = UInt8.random(in: 0...255, using: &random)
      switch kind {
      case 0: bytes.append(noise)
      case 1: bytes.append(UInt8(truncatingIfNeeded: index % size.width * slope / 3 + index / size.width))
      case 2: bytes.append((index / slope + index / size.width / 5) % 2 == 0 ? 255 : 0)
      default: bytes.append(UInt8(truncatingIfNeeded: level + Int(noise) / 86))
      }
    }
    return try Frame(tight: Frame.Format(pixelFormat, size, color: .jfif), bytes: bytes)
  }
}
