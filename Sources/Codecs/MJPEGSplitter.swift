// Splits a stream of JPEGs by walking their marker segments (T.81, B.1), so that an EOI inside a segment, as
// in embedded thumbnails, does not end the picture. It does no I/O: bytes go in, pictures come out.
internal import Glibc

/// Splits a stream of JPEGs into pictures. Bytes between pictures, such as padding or multipart headers, are
/// dropped.
package struct MJPEGSplitter {
  package let pictureLimit: Int
  /// The bytes of the current picture; empty between pictures.
  package private(set) var partialPicture: [UInt8] = []
  private var state = State.betweenPictures

  private enum State {
    /// Looking for FF D8 FF.
    case betweenPictures
    case sawFF
    case sawStart
    /// In a picture: looking for the FF of the next marker.
    case betweenSegments
    /// In a picture, after an FF: this byte is the marker's code, or more FF.
    case atMarker
    /// The two bytes of a segment's length, which includes themselves.
    case lengthHigh(isScan: Bool)
    case lengthLow(Int, isScan: Bool)
    case inSegment(remaining: Int, isScan: Bool)
    /// Entropy-coded data; FF 00 and FF D0...D7 belong to it.
    case inScan
    case inScanAfterFF
  }

  package struct TooLarge: Error {}

  package init(pictureLimit: Int) { self.pictureLimit = pictureLimit }

  /// Consumes bytes up to the end of a picture, or all of them. Returns their number, and the picture that
  /// ended with the last of them.
  package mutating func take(_ bytes: ArraySlice<UInt8>) throws(TooLarge) -> (count: Int, picture: [UInt8]?) {
    var index = bytes.startIndex
    while index < bytes.endIndex {
      if let run = longRun(in: bytes[index...]) {
        try keep(bytes[index..<(index + run)])
        index += run
        continue
      }
      let byte = bytes[index]
      index += 1
      if let picture = try step(byte) { return (index - bytes.startIndex, picture) }
    }
    return (bytes.count, nil)
  }

  /// Returns the number of bytes that can be kept without passing each to `step`; nil if each must be.
  private mutating func longRun(in bytes: ArraySlice<UInt8>) -> Int? {
    switch state {
    case .inScan:
      let run = Self.entropyCodedCount(bytes)
      return run > 0 ? run : nil
    case .inSegment(let remaining, let isScan):
      let run = min(remaining, bytes.count)
      state =
        run < remaining
        ? .inSegment(remaining: remaining - run, isScan: isScan) : (isScan ? .inScan : .betweenSegments)
      return run
    default: return nil
    }
  }

  /// Returns the number of bytes before the FF that ends entropy-coded data, or before an FF whose next byte has
  /// not arrived. Almost all bytes of a picture are skipped here, many at a time.
  private static func entropyCodedCount(_ bytes: ArraySlice<UInt8>) -> Int {
    unsafe bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return 0 }
      var position = 0
      while position < bytes.count,
        let found = unsafe memchr(start + position, 0xFF, bytes.count - position)
      {
        position = unsafe UnsafeRawPointer(found) - start
        guard position + 1 < bytes.count, unsafe isEntropyCoded(afterFF: bytes[position + 1]) else {
          return position
        }
        position += 2
      }
      return bytes.count
    }
  }

  /// Whether FF and `byte` belong to entropy-coded data: a stuffed zero, or a restart marker.
  private static func isEntropyCoded(afterFF byte: UInt8) -> Bool { byte == 0x00 || 0xD0...0xD7 ~= byte }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) throws(TooLarge) {
    try makeRoom(for: bytes.count)
    partialPicture += bytes
  }

  private mutating func makeRoom(for count: Int) throws(TooLarge) {
    guard partialPicture.count + count <= pictureLimit else {
      state = .betweenPictures
      partialPicture = []
      throw TooLarge()
    }
  }

  private mutating func step(_ byte: UInt8) throws(TooLarge) -> [UInt8]? {
    switch state {
    case .betweenPictures:
      if byte == 0xFF { state = .sawFF }
      return nil
    case .sawFF:
      state = byte == 0xD8 ? .sawStart : byte == 0xFF ? .sawFF : .betweenPictures
      return nil
    case .sawStart:
      guard byte == 0xFF else {
        state = .betweenPictures
        partialPicture = []
        return nil
      }
      partialPicture = [0xFF, 0xD8, 0xFF]
      state = .atMarker
      return nil
    default:
      try makeRoom(for: 1)
      partialPicture.append(byte)
      return stepInPicture(byte)
    }
  }

  private mutating func stepInPicture(_ byte: UInt8) -> [UInt8]? {
    switch state {
    case .atMarker: return stepAtMarker(byte)
    case .inScanAfterFF:
      guard Self.isEntropyCoded(afterFF: byte) else { return stepAtMarker(byte) }
      state = .inScan
    case .betweenSegments: if byte == 0xFF { state = .atMarker }
    case .inScan: if byte == 0xFF { state = .inScanAfterFF }
    case .lengthHigh(let isScan): state = .lengthLow(Int(byte) << 8, isScan: isScan)
    case .lengthLow(let high, let isScan):
      let remaining = max(high + Int(byte) - 2, 0)
      if remaining > 0 {
        state = .inSegment(remaining: remaining, isScan: isScan)
      } else {
        state = isScan ? .inScan : .betweenSegments
      }
    case .betweenPictures, .sawFF, .sawStart, .inSegment: break
    }
    return nil
  }

  private mutating func stepAtMarker(_ code: UInt8) -> [UInt8]? {
    switch code {
    case 0xFF: break
    case 0xD9:
      defer { partialPicture = [] }
      state = .betweenPictures
      return partialPicture
    case 0xD8:
      // A start without an end of the previous picture: some cameras omit the EOI.
      let picture = Array(partialPicture.dropLast(2))
      partialPicture = [0xFF, 0xD8]
      state = .sawStart
      // Two consecutive starts count as one.
      return picture.count > 2 ? picture : nil
    case 0x00, 0x01, 0xD0...0xD7: state = .betweenSegments
    case 0xDA: state = .lengthHigh(isScan: true)
    default: state = .lengthHigh(isScan: false)
    }
    return nil
  }
}
