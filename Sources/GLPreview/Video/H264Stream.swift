// Takes an encoder's byte stream apart (H.264, Annex B), and reads what a sequence parameter set says.
package import PreviewCore

/// A picture of a byte stream.
package struct H264Stream: Sendable, Hashable {
  static let startCode: [UInt8] = [0, 0, 0, 1]

  /// The last sequence parameter set before the picture, if there is one.
  package private(set) var sps: [UInt8]?
  /// The last picture parameter set, likewise.
  package private(set) var pps: [UInt8]?
  /// The slices, each behind its length in four bytes; empty if there is none.
  package private(set) var slices: [UInt8] = []
  /// Whether decoding can begin with it.
  package private(set) var isKey = false

  /// Reads the NAL units of one picture. What is neither a slice nor a parameter set is left out: decoders need none of
  /// it.
  package init(_ bytes: [UInt8]) {
    for range in Self.units(bytes) {
      switch bytes[range.lowerBound] & 31 {
      case 1...5:
        isKey = isKey || bytes[range.lowerBound] & 31 == 5
        slices.append(bigEndian: UInt32(truncatingIfNeeded: range.count))
        slices += bytes[range]
      case 7: sps = Array(bytes[range])
      case 8: pps = Array(bytes[range])
      default: break
      }
    }
  }

  /// The NAL units, none of them empty, without start codes and the zeros after them (B.1).
  package static func units(_ bytes: [UInt8]) -> [Range<Int>] {
    var units: [Range<Int>] = []
    var start: Int?
    var index = 0
    func end(_ last: Int) {
      guard let first = start else { return }
      var last = last
      while last > first, bytes[last - 1] == 0 { last -= 1 }
      if last > first { units.append(first..<last) }
    }
    while index + 2 < bytes.count {
      // The third byte of a start code is 1; a larger one can be neither of its bytes.
      if bytes[index + 2] > 1 {
        index += 3
      } else if bytes[index + 2] == 1, bytes[index + 1] == 0, bytes[index] == 0 {
        end(index)
        index += 3
        start = index
      } else {
        index += 1
      }
    }
    end(bytes.count)
    return units
  }
}

/// What a sequence parameter set says (7.3.2.1.1).
package struct SequenceParameters: Sendable, Hashable {
  /// The size of the picture, cropped.
  package let size: Size
  /// 66 is baseline.
  package let profile: UInt8
  /// Ten times the level.
  package let level: UInt8
  /// The flags of constraints, the first one highest: 0xc0 makes baseline constrained.
  package let constraints: UInt8

  /// Nil if it is not one, or makes no sense.
  package init?(_ unit: [UInt8]) {
    guard unit.count > 4, unit[0] & 31 == 7 else { return nil }
    (profile, constraints, level) = (unit[1], unit[2], unit[3])
    var bits = BitReader(unit.dropFirst(4))
    guard bits.exponential() != nil else { return nil }
    var chroma = 1
    if [100, 110, 122, 244, 44, 83, 86, 118, 128].contains(profile) {
      guard let format = bits.exponential(), format <= 3 else { return nil }
      chroma = format
      if format == 3 { bits.skip(1) }
      guard bits.exponential() != nil, bits.exponential() != nil else { return nil }
      bits.skip(1)
      // Lists of scales would have to be read to get past them; no encoder of ours writes them.
      guard bits.next() == 0 else { return nil }
    }
    guard bits.exponential() != nil, let order = bits.exponential(), order <= 2 else { return nil }
    if order == 0 { guard bits.exponential() != nil else { return nil } }
    if order == 1 {
      bits.skip(1)
      guard bits.exponential() != nil, bits.exponential() != nil, let count = bits.exponential(), count <= 255
      else { return nil }
      for _ in 0..<count { guard bits.exponential() != nil else { return nil } }
    }
    guard bits.exponential() != nil else { return nil }
    bits.skip(1)
    guard let columns = bits.exponential(), let rows = bits.exponential(), columns < 4096, rows < 4096,
      let isProgressive = bits.next()
    else { return nil }
    if isProgressive == 0 { bits.skip(1) }
    bits.skip(1)
    // Crops are in chroma samples, and in pairs of rows where pictures may be interlaced (7.4.2.1.1).
    let unitX = chroma == 1 || chroma == 2 ? 2 : 1
    let unitY = (chroma == 1 ? 2 : 1) * (2 - isProgressive)
    var (width, height) = (16 * (columns + 1), 16 * (rows + 1) * (2 - isProgressive))
    guard let isCropped = bits.next() else { return nil }
    if isCropped == 1 {
      guard let left = bits.exponential(), let right = bits.exponential(), let top = bits.exponential(),
        let bottom = bits.exponential()
      else { return nil }
      width -= unitX * (left + right)
      height -= unitY * (top + bottom)
    }
    guard width > 0, height > 0 else { return nil }
    size = Size(width: width, height: height)
  }
}

/// Bits of a NAL unit, highest first.
private struct BitReader {
  private let bytes: [UInt8]
  private var position = 0

  /// Without the bytes that keep start codes out of a unit (7.4.1.1).
  init(_ unit: ArraySlice<UInt8>) {
    var bytes: [UInt8] = []
    var zeros = 0
    for byte in unit {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      bytes.append(byte)
    }
    self.bytes = bytes
  }

  mutating func next() -> Int? {
    guard position < 8 * bytes.count else { return nil }
    defer { position += 1 }
    return Int(bytes[position / 8] >> (7 - UInt8(position % 8)) & 1)
  }

  mutating func skip(_ count: Int) { position += count }

  /// An Exp-Golomb code, ue(v) (9.1); nil at the end, and above 2^24, which nothing here may be.
  mutating func exponential() -> Int? {
    var zeros = 0
    while let bit = next(), bit == 0 { zeros += 1 }
    guard zeros <= 24 else { return nil }
    var value = 1
    for _ in 0..<zeros {
      guard let bit = next() else { return nil }
      value = value << 1 | bit
    }
    return value - 1
  }
}

extension [UInt8] {
  mutating func append<Value: FixedWidthInteger>(bigEndian value: Value) {
    for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: value >> Value(shift)))
    }
  }
}
