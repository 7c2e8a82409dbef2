// A camera's JPEG that is passed through without decoding. Its markers are parsed and checked (ITU-T T.81,
// Annex B); its entropy-coded data, which is the picture, is unchanged.
internal import Glibc

/// A JPEG as a camera sent it, without the segments that its picture does not need.
///
/// Of application data and comments, only JFIF's and Adobe's markers remain, because they define the meaning
/// of the samples; EXIF can contain a location and thumbnails. If a camera leaves out the Huffman tables, as
/// many do, the standard ones are added.
package struct OriginalJPEG: Sendable {
  package let bytes: [UInt8]
  /// In pixels. The picture is upright.
  package let size: Size

  /// Checks a JPEG: baseline or progressive, grey or of three components, upright, without an ICC profile,
  /// complete, and of at most `maximumPixels`. Bytes after it are cut off.
  ///
  /// - Throws: `CodecError` for any other JPEG; decoding may still accept it.
  package init(checking jpeg: [UInt8], maximumPixels: Int) throws(CodecError) {
    var walk = MarkerWalk(jpeg)
    bytes = try walk.run(maximumPixels)
    size = walk.size
  }
}

/// One pass over a JPEG's markers.
private struct MarkerWalk {
  private let input: [UInt8]
  private var output: [UInt8] = []
  /// The input before this position is done: the output has everything that is kept of it.
  private var copied = 0

  private(set) var size = Size(width: 0, height: 0)
  private var isProgressive = false
  private var components: [Component] = []
  private var quantizationTables: Set<UInt8> = []
  /// The Huffman tables that are defined, each as its class (16 for AC) plus its number.
  private var huffmanTables: Set<UInt8> = []
  private var hasHuffmanTables = false
  private var scans = 0
  private var applications: Set<UInt8> = []

  private struct Component {
    let id: UInt8
    let quantizationTable: UInt8
    let blocks: Int
    var isScanned = false
  }

  /// The most scans. Encoders make about ten; each is a pass over the whole picture, in every browser.
  private static let mostScans = 50

  init(_ jpeg: [UInt8]) { input = jpeg }

  /// Returns the JPEG itself if nothing has to be changed, otherwise a changed copy.
  mutating func run(_ maximumPixels: Int) throws(CodecError) -> [UInt8] {
    guard input.starts(with: [0xFF, 0xD8]) else { throw CodecError(.unrecognized, "not a JPEG") }
    var position = 2
    while true {
      let start = position
      guard byte(position) == 0xFF else { throw refusal("has bytes between its markers") }
      while byte(position + 1) == 0xFF { position += 1 }
      replace(start..<position)
      guard let code = byte(position + 1) else { throw Self.cutShort }
      if code == 0xD9 {
        guard !components.isEmpty, components.allSatisfy(\.isScanned) else {
          throw refusal("has no data for a component")
        }
        guard position + 2 < input.count || !output.isEmpty else { return input }
        output += input[copied..<position + 2]
        return output
      }
      let content = try content(of: code, at: position + 2)
      try take(code, content, from: position, maximumPixels)
      position = code == 0xDA ? try endOfScan(from: content.upperBound) : content.upperBound
    }
  }

  /// Returns the content of a segment whose length is at `position`.
  private func content(of code: UInt8, at position: Int) throws(CodecError) -> Range<Int> {
    guard code >= 0xC0, !(0xD0...0xD9).contains(code) else { throw refusal("has a misplaced marker") }
    guard let high = byte(position), let low = byte(position + 1) else { throw Self.cutShort }
    let length = Int(high) << 8 | Int(low)
    guard length >= 2 else { throw refusal("has a segment of \(length) bytes") }
    guard position + length <= input.count else { throw Self.cutShort }
    return position + 2..<position + length
  }

  private mutating func take(
    _ code: UInt8, _ content: Range<Int>, from start: Int, _ maximumPixels: Int
  ) throws(CodecError) {
    switch code {
    case 0xC0, 0xC2: try takeFrame(content, maximumPixels, isProgressive: code == 0xC2)
    case 0xC4: try takeHuffmanTables(content)
    case 0xDB: try takeQuantizationTables(content)
    case 0xDD: guard content.count == 2 else { throw refusal("has a bad restart interval") }
    case 0xDA: try takeScan(content, from: start)
    case 0xE0, 0xEE: try takeApplication(code, content, from: start)
    case 0xE1...0xEF, 0xFE:
      try check(code, content)
      replace(start..<content.upperBound)
    default: throw CodecError(.unsupported, "JPEG is neither baseline nor progressive")
    }
  }

  /// Keeps JFIF's and Adobe's markers, but removes a thumbnail.
  private mutating func takeApplication(_ code: UInt8, _ content: Range<Int>, from start: Int)
    throws(CodecError)
  {
    guard scans == 0 else { throw refusal("has application data between its scans") }
    let name = code == 0xE0 ? "JFIF\0" : "Adobe"
    guard input[content].starts(with: name.utf8) else { return replace(start..<content.upperBound) }
    let count = code == 0xE0 ? 14 : 12
    guard content.count >= count, applications.insert(code).inserted else {
      throw refusal("has bad application data")
    }
    // The last two bytes of JFIF's are the size of its thumbnail, which follows.
    let isWithThumbnail = code == 0xE0 && input[content].dropFirst(12) != [0, 0]
    guard isWithThumbnail || content.count > count else { return }
    let kept = input[content].prefix(count)
    replace(
      start..<content.upperBound,
      by: [0xFF, code, 0, UInt8(count + 2)] + (isWithThumbnail ? kept.dropLast(2) + [0, 0] : kept))
  }

  /// Checks a segment that is removed: it must not change how the picture looks.
  private func check(_ code: UInt8, _ content: Range<Int>) throws(CodecError) {
    let content = input[content]
    if code == 0xE1, content.starts(with: "Exif\0\0".utf8),
      EXIF.orientation(in: Array(content)) ?? .upright != .upright
    {
      throw CodecError(.unsupported, "JPEG is not upright")
    }
    if code == 0xE2, content.starts(with: "ICC_PROFILE\0".utf8) {
      throw CodecError(.unsupported, "JPEG has an ICC profile")
    }
  }

  private mutating func takeFrame(_ content: Range<Int>, _ maximumPixels: Int, isProgressive: Bool)
    throws(CodecError)
  {
    let bytes = input[content]
    guard components.isEmpty, bytes.count >= 6, bytes.first == 8 else {
      throw refusal("has a bad frame header")
    }
    let count = Int(input[content.lowerBound + 5])
    guard count == 1 || count == 3, bytes.count == 6 + 3 * count else {
      throw CodecError(.unsupported, "JPEG has neither one nor three components")
    }
    size = Size(width: number(content.lowerBound + 3), height: number(content.lowerBound + 1))
    guard size.width > 0, size.height > 0 else { throw refusal("has no size") }
    try CodecError.checkSize(size, maximumPixels: maximumPixels)
    self.isProgressive = isProgressive
    for start in stride(from: content.lowerBound + 6, to: content.upperBound, by: 3) {
      let (id, sampling, table) = (input[start], input[start + 1], input[start + 2])
      let (x, y) = (Int(sampling >> 4), Int(sampling & 15))
      guard (1...4).contains(x), (1...4).contains(y), table < 4, !components.contains(where: { $0.id == id })
      else { throw refusal("has a bad frame header") }
      components.append(Component(id: id, quantizationTable: table, blocks: x * y))
    }
  }

  private mutating func takeQuantizationTables(_ content: Range<Int>) throws(CodecError) {
    // A byte for the number, which is below 4 for tables of bytes, and 64 entries, none of which is 0.
    guard !content.isEmpty, content.count % 65 == 0 else { throw refusal("has a bad quantization table") }
    for start in stride(from: content.lowerBound, to: content.upperBound, by: 65) {
      guard input[start] < 4, !input[start + 1..<start + 65].contains(0) else {
        throw refusal("has a bad quantization table")
      }
      quantizationTables.insert(input[start])
    }
  }

  private mutating func takeHuffmanTables(_ content: Range<Int>) throws(CodecError) {
    guard !content.isEmpty else { throw refusal("has a bad Huffman table") }
    var start = content.lowerBound
    while start < content.upperBound {
      guard start + 17 <= content.upperBound, input[start] & 0xEC == 0 else {
        throw refusal("has a bad Huffman table")
      }
      var (count, codes) = (0, 0)
      for (length, number) in zip(1..., input[start + 1..<start + 17]) {
        count += Int(number)
        // The next code of each length; a code of all ones is not allowed (T.81, C.2).
        codes = 2 * codes + Int(number)
        guard codes < 1 << length else { throw refusal("has a bad Huffman table") }
      }
      guard count <= 256, start + 17 + count <= content.upperBound else {
        throw refusal("has a bad Huffman table")
      }
      huffmanTables.insert(input[start])
      start += 17 + count
    }
    hasHuffmanTables = true
  }

  private mutating func takeScan(_ content: Range<Int>, from start: Int) throws(CodecError) {
    let count = byte(content.lowerBound).map(Int.init) ?? 0
    scans += 1
    guard !components.isEmpty, (1...components.count).contains(count), content.count == 4 + 2 * count,
      scans <= Self.mostScans
    else { throw refusal("has a bad scan header") }
    if !hasHuffmanTables, !isProgressive {
      replace(start..<start, by: StandardHuffmanTables.segment)
      huffmanTables = [0x00, 0x01, 0x10, 0x11]
      hasHuffmanTables = true
    }
    let parameters = content.upperBound - 3
    let (first, last, bits) = (input[parameters], input[parameters + 1], input[parameters + 2])
    let isDC = first == 0
    if isProgressive {
      guard first <= last, last < 64, isDC == (last == 0), isDC || count == 1, bits & 15 < 14, bits >> 4 < 14
      else { throw refusal("has a bad scan header") }
    } else {
      guard isDC, last == 63, bits == 0 else { throw refusal("has a bad scan header") }
    }
    var (index, blocks) = (0, 0)
    for place in stride(from: content.lowerBound + 1, to: parameters, by: 2) {
      // Components come in the order of the frame header (T.81, B.2.3).
      while index < components.count, components[index].id != input[place] { index += 1 }
      guard index < components.count, isProgressive || !components[index].isScanned,
        quantizationTables.contains(components[index].quantizationTable)
      else { throw refusal("has a bad scan header") }
      let (dc, ac) = (input[place + 1] >> 4, input[place + 1] & 15)
      let needsDC = isDC && bits >> 4 == 0
      let needsAC = !isProgressive || !isDC
      guard !needsDC || huffmanTables.contains(dc), !needsAC || ac < 4 && huffmanTables.contains(16 + ac)
      else { throw refusal("lacks a Huffman table") }
      blocks += components[index].blocks
      if isDC { components[index].isScanned = true }
      index += 1
    }
    guard count == 1 || blocks <= 10 else { throw refusal("has a bad scan header") }
  }

  /// Returns the position of the marker after entropy-coded data, which FF 00 and restart markers do not end.
  private func endOfScan(from start: Int) throws(CodecError) -> Int {
    var position = start
    while let found = nextMarkerByte(from: position), let code = byte(found + 1) {
      switch code {
      case 0x00, 0xD0...0xD7: position = found + 2
      case 0xFF: position = found + 1
      default: return found
      }
    }
    throw Self.cutShort
  }

  /// Returns the position of the next FF. This skips almost all bytes of a picture, ten times as fast as one
  /// by one.
  private func nextMarkerByte(from position: Int) -> Int? {
    unsafe input.withUnsafeBytes { bytes in
      guard position < bytes.count, let start = bytes.baseAddress,
        let found = unsafe memchr(start + position, 0xFF, bytes.count - position)
      else { return nil }
      return unsafe UnsafeRawPointer(found) - start
    }
  }

  /// Replaces a range of the input in the output.
  private mutating func replace(_ range: Range<Int>, by bytes: [UInt8] = []) {
    guard !range.isEmpty || !bytes.isEmpty else { return }
    if output.isEmpty { output.reserveCapacity(input.count + StandardHuffmanTables.segment.count) }
    output += input[copied..<range.lowerBound]
    output += bytes
    copied = range.upperBound
  }

  private func byte(_ position: Int) -> UInt8? { position < input.count ? input[position] : nil }

  private func number(_ position: Int) -> Int { Int(input[position]) << 8 | Int(input[position + 1]) }

  private static let cutShort = CodecError(.cutShort, "JPEG is cut short")

  private func refusal(_ reason: String) -> CodecError { CodecError(.damaged, "JPEG \(reason)") }
}
