// Splits an encoder's byte stream (H.264, Annex B), and parses sequence parameter sets.

/// A picture of a byte stream.
package struct H264Stream: Sendable, Hashable {
  static let startCode: [UInt8] = [0, 0, 0, 1]

  /// The last sequence parameter set of the picture, if there is one.
  package private(set) var sps: [UInt8]?
  /// The last picture parameter set of the picture, if there is one.
  package private(set) var pps: [UInt8]?
  /// The slices, each preceded by its length in four bytes; empty if there are none.
  package private(set) var slices: [UInt8] = []
  /// Whether it is a keyframe, at which decoding can begin.
  package private(set) var isKey = false
  /// The reason why the stream can't be passed through; nil if it can: its slices reference only earlier
  /// pictures (I and P), it has at most one parameter set of each kind, and it has no display orientation.
  package private(set) var refusal: String?

  /// Reads the NAL units of one picture. Units other than slices and parameter sets are dropped, because
  /// decoders do not need them.
  package init(_ bytes: [UInt8]) { self.init(bytes, Self.units(bytes)) }

  /// Reads units that are preceded by their lengths in `lengthBytes` bytes each, as in MP4. A truncated unit
  /// is dropped, and sets `refusal`.
  init(_ bytes: [UInt8], lengthBytes: Int) {
    var (units, offset): ([Range<Int>], Int) = ([], 0)
    while offset + lengthBytes <= bytes.count {
      let start = offset + lengthBytes
      let length = bytes[offset..<start].reduce(0) { $0 << 8 | Int($1) }
      guard length <= bytes.count - start else { break }
      if length > 0 { units.append(start..<start + length) }
      offset = start + length
    }
    self.init(bytes, units)
    if offset != bytes.count { refuse("its packets are cut short") }
  }

  private init(_ bytes: [UInt8], _ units: [Range<Int>]) {
    for range in units {
      switch bytes[range.lowerBound] & 31 {
      case 6: if Self.turns(bytes[range]) { refuse("it has a display orientation") }
      case 1...5:
        isKey = isKey || bytes[range.lowerBound] & 31 == 5
        if let reason = Self.refusal(of: bytes[range]) { refuse(reason) }
        slices.append(bigEndian: UInt32(truncatingIfNeeded: range.count))
        slices += bytes[range]
      case 7:
        if let sps, sps[...] != bytes[range] { refuse("it has several sequence parameter sets") }
        sps = Array(bytes[range])
      case 8:
        if let pps, pps[...] != bytes[range] { refuse("it has several picture parameter sets") }
        pps = Array(bytes[range])
      default: break
      }
    }
  }

  private mutating func refuse(_ reason: String) { refusal = refusal ?? reason }

  /// Returns why a slice is refused: it is neither an I nor a P slice (7.4.3, table 7-6), or one of several
  /// partitions. Nil if it is a whole I or P slice.
  private static func refusal(of slice: ArraySlice<UInt8>) -> String? {
    guard let header = slice.first, [1, 5].contains(header & 31) else { return "its slices are partitioned" }
    var bits = BitReader(slice.dropFirst().prefix(12))
    guard bits.exponential() != nil, let type = bits.exponential() else { return "its slices are cut short" }
    return switch type {
    case 0, 2, 5, 7: nil
    case 1, 6: "it has B pictures"
    default: "it has switching pictures"
    }
  }

  /// Returns the `frame_num` of the first slice (7.4.3), which has `bitCount` bits, and whether the picture
  /// is a reference for others. Nil if there is no slice, or it is cut short.
  func place(_ bitCount: Int) -> (number: Int, isReference: Bool)? {
    let slice = slices.dropFirst(4)
    guard let header = slice.first else { return nil }
    var bits = BitReader(slice.dropFirst().prefix(24))
    for _ in 0..<3 { guard bits.exponential() != nil else { return nil } }
    return bits.bits(bitCount).map { ($0, header & 0x60 != 0) }
  }

  /// Returns whether supplemental enhancement information has a display orientation (7.3.2.3.1, D.1.27).
  private static func turns(_ unit: ArraySlice<UInt8>) -> Bool {
    var rest = BitReader.payload(unit.dropFirst())[...]
    func number() -> Int {
      var value = 0
      while let byte = rest.popFirst() {
        value += Int(byte)
        if byte != 255 { break }
      }
      return value
    }
    // The last byte holds the unit's trailing bits.
    while rest.count > 1 {
      let type = number()
      let length = number()
      if type == 47 { return true }
      rest = rest.dropFirst(length)
    }
    return false
  }

  /// Returns the NAL units, none of them empty, without start codes and the zeros after them (B.1).
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
      // A start code is 0, 0, 1. If the third byte is above 1, no start code contains it.
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

/// The values of a sequence parameter set (7.3.2.1.1).
package struct SequenceParameters: Sendable, Hashable {
  /// The size of the picture, cropped.
  package let size: Size
  /// The profile; 66 is baseline.
  package let profile: UInt8
  /// Ten times the level.
  package let level: UInt8
  /// The constraint flags, the first one in the highest bit: 0xc0 marks constrained baseline.
  package let constraints: UInt8
  /// Whether samples are 4:2:0 with 8 bits.
  let isUsual: Bool
  /// Whether its pictures are whole frames.
  let isProgressive: Bool
  /// Whether pixels are square, or their aspect ratio is not specified.
  let isSquare: Bool
  /// How many frames may be decoded before another frame but shown after it (`max_num_reorder_frames`); nil
  /// if not specified.
  let reordered: Int?
  /// The number of bits of `frame_num` in slices; nil if the numbers may have gaps.
  let frameNumberBits: Int?

  /// Parses a unit. Nil if it is not a sequence parameter set, is invalid, or has scaling lists.
  package init?(_ unit: [UInt8]) {
    guard unit.count > 4, unit[0] & 31 == 7 else { return nil }
    (profile, constraints, level) = (unit[1], unit[2], unit[3])
    var bits = BitReader(unit.dropFirst(4))
    guard bits.exponential() != nil else { return nil }
    var (chroma, isUsual) = (1, true)
    if [100, 110, 122, 244, 44, 83, 86, 118, 128].contains(profile) {
      guard let format = bits.exponential(), format <= 3 else { return nil }
      chroma = format
      if format == 3 { bits.skip(1) }
      guard let luma = bits.exponential(), let depth = bits.exponential() else { return nil }
      isUsual = format == 1 && luma == 0 && depth == 0
      bits.skip(1)
      // Scaling lists would have to be parsed to skip them; none of our encoders writes them.
      guard bits.next() == 0 else { return nil }
    }
    guard let frameNumber = bits.exponential(), let order = bits.exponential(), order <= 2 else { return nil }
    if order == 0 { guard bits.exponential() != nil else { return nil } }
    if order == 1 {
      bits.skip(1)
      guard bits.exponential() != nil, bits.exponential() != nil, let count = bits.exponential(), count <= 255
      else { return nil }
      for _ in 0..<count { guard bits.exponential() != nil else { return nil } }
    }
    guard bits.exponential() != nil, let hasGaps = bits.next() else { return nil }
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
    self.isUsual = isUsual
    frameNumberBits = hasGaps == 0 && frameNumber <= 12 ? frameNumber + 4 : nil
    self.isProgressive = isProgressive == 1
    (isSquare, reordered) = bits.next() == 1 ? bits.usability() : (true, nil)
  }
}

extension BitReader {
  /// Reads the pixel aspect ratio and the reordering from the video usability information (E.1.1).
  fileprivate mutating func usability() -> (isSquare: Bool, reordered: Int?) {
    var isSquare = true
    if next() == 1 {
      let ratio = bits(8)
      isSquare = ratio == 255 ? bits(16) == bits(16) : (0...1).contains(ratio ?? 0)
    }
    if next() == 1 { skip(1) }
    if next() == 1 {
      skip(4)
      if next() == 1 { skip(24) }
    }
    if next() == 1 { guard exponential() != nil, exponential() != nil else { return (isSquare, nil) } }
    if next() == 1 { skip(65) }
    var hasBuffer = false
    for _ in 0..<2 where next() == 1 {
      hasBuffer = true
      guard let count = exponential(), count < 32 else { return (isSquare, nil) }
      skip(8)
      for _ in 0...count {
        guard exponential() != nil, exponential() != nil else { return (isSquare, nil) }
        skip(1)
      }
      skip(20)
    }
    skip(hasBuffer ? 2 : 1)
    guard next() == 1 else { return (isSquare, nil) }
    skip(1)
    for _ in 0..<4 { guard exponential() != nil else { return (isSquare, nil) } }
    return (isSquare, exponential())
  }

  fileprivate mutating func bits(_ count: Int) -> Int? {
    var value = 0
    for _ in 0..<count {
      guard let bit = next() else { return nil }
      value = value << 1 | bit
    }
    return value
  }
}

/// Reads the bits of a NAL unit, highest first.
private struct BitReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ unit: ArraySlice<UInt8>) { bytes = Self.payload(unit) }

  /// Returns a unit without its emulation prevention bytes (7.4.1.1).
  static func payload(_ unit: ArraySlice<UInt8>) -> [UInt8] {
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
    return bytes
  }

  mutating func next() -> Int? {
    guard position < 8 * bytes.count else { return nil }
    defer { position += 1 }
    return Int(bytes[position / 8] >> (7 - UInt8(position % 8)) & 1)
  }

  mutating func skip(_ count: Int) { position += count }

  /// Reads an Exp-Golomb code, ue(v) (9.1); nil at the end, and from 2^25 - 1 on, which no value here may
  /// reach.
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
