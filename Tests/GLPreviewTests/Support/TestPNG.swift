// Writes PNGs of any colour type, depth and interlacing for the decoder's tests: plainly, with zlib's stored
// blocks, so that every byte of them can be worked out by hand.

/// A PNG in the making.
struct TestPNG {
  enum ColorType: UInt8 {
    case grey = 0
    case rgb = 2
    case palette = 3
    case greyAlpha = 4
    case rgba = 6

    var channels: Int {
      switch self {
      case .grey, .palette: 1
      case .greyAlpha: 2
      case .rgb: 3
      case .rgba: 4
      }
    }
  }

  static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  let width: Int
  let height: Int
  let type: ColorType
  let depth: Int
  var isInterlaced = false
  /// Between IHDR and IDAT, and between IDAT and IEND.
  var chunksBefore: [[UInt8]] = []
  var chunksAfter: [[UInt8]] = []
  /// The channels of a pixel, each below 1 << depth.
  let sample: (_ x: Int, _ y: Int) -> [Int]

  var bytes: [UInt8] {
    let header = word(width) + word(height) + [UInt8(depth), type.rawValue, 0, 0, isInterlaced ? 1 : 0]
    let chunks =
      [Self.chunk("IHDR", header)] + chunksBefore + [Self.chunk("IDAT", Self.zlib(scanlines))] + chunksAfter
      + [Self.chunk("IEND", [])]
    return Self.signature + chunks.flatMap(\.self)
  }

  /// W3C PNG, 8.1: where each Adam7 pass starts, and how far its columns and rows are apart.
  private static let adam7 = [
    (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2),
  ]

  private var scanlines: [UInt8] {
    var lines: [UInt8] = []
    for (left, top, stepX, stepY) in isInterlaced ? Self.adam7 : [(0, 0, 1, 1)] where left < width {
      for y in stride(from: top, to: height, by: stepY) {
        lines.append(0)
        lines += packed(stride(from: left, to: width, by: stepX).flatMap { sample($0, y) })
      }
    }
    return lines
  }

  private func packed(_ samples: [Int]) -> [UInt8] {
    if depth == 16 { return samples.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } }
    var row = [UInt8](repeating: 0, count: (samples.count * depth + 7) / 8)
    for (index, sample) in samples.enumerated() {
      row[index * depth / 8] |= UInt8(sample << (8 - depth - index * depth % 8))
    }
    return row
  }

  static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
    let body = Array(name.utf8) + data
    return word(data.count) + body + word(Int(crc(body)))
  }

  /// The zlib stream of one byte, `1 + 258 * runs` times (RFC 1951, 3.2.6: fixed codes, each run at a distance of 1).
  static func zlib(repeating byte: UInt8, runs: Int) -> [UInt8] {
    precondition(byte < 144, "a literal of 8 bits")
    var bytes: [UInt8] = [0x78, 0x9C]
    var (bits, count): (UInt64, Int) = (0, 0)
    func put(_ value: Int, _ width: Int) {
      bits |= UInt64(value) << count
      count += width
      while count >= 8 {
        bytes.append(UInt8(bits & 0xFF))
        (bits, count) = (bits >> 8, count - 8)
      }
    }
    // A Huffman code goes with its first bit first.
    func putCode(_ code: Int, _ width: Int) {
      for bit in (0..<width).reversed() { put(code >> bit & 1, 1) }
    }
    put(0b011, 3)
    putCode(0x30 + Int(byte), 8)
    for _ in 0..<runs {
      putCode(0b1100_0101, 8)
      putCode(0, 5)
    }
    putCode(0, 7)
    put(0, (8 - count) % 8)
    let (size, value) = (1 + 258 * runs, Int(byte))
    let a = (1 + size * value) % 65521
    let b = (size + value * (size * (size + 1) / 2 % 65521)) % 65521
    return bytes + [UInt8(b >> 8), UInt8(b & 0xFF), UInt8(a >> 8), UInt8(a & 0xFF)]
  }

  static func zlib(_ data: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    var rest = data[...]
    repeat {
      let block = rest.prefix(65535)
      rest = rest.dropFirst(block.count)
      let count = UInt16(block.count)
      stream += [rest.isEmpty ? 1 : 0, UInt8(count & 0xFF), UInt8(count >> 8)]
      stream += [UInt8(~count & 0xFF), UInt8(~count >> 8)] + block
    } while !rest.isEmpty
    let (a, b) = data.reduce((1, 0)) { sums, byte in
      let a = (sums.0 + Int(byte)) % 65521
      return (a, (sums.1 + a) % 65521)
    }
    return stream + word(b << 16 | a)
  }

  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { crc, byte in
      (0..<8).reduce(crc ^ UInt32(byte)) { value, _ in value >> 1 ^ (value & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
  }

  static func word(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(value >> $0 & 0xFF) } }
  private func word(_ value: Int) -> [UInt8] { Self.word(value) }
}
