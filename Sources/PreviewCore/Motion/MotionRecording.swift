// Recordings of a detector's input as bytes, for replaying it elsewhere.
//
// The format is `GLPMOTION 1 64 36\n`, then for each picture the milliseconds since the previous one (since
// the timeline's start for the first) as a zigzag LEB128 number, and its cells as differences from the
// previous picture, modulo 256. A 0 is followed by the number of further zeros, 0...255.

/// Recorded cells.
package struct MotionRecording: Sendable, Hashable {
  package var pictures: [MotionCells] = []

  package init(_ pictures: [MotionCells] = []) { self.pictures = pictures }

  private static let header = Array("GLPMOTION 1 \(MotionCells.columns) \(MotionCells.rows)\n".utf8)

  /// The file's bytes. Times are rounded to milliseconds.
  package var bytes: [UInt8] {
    var bytes = Self.header
    var (time, luma) = (Int64(0), [UInt8](repeating: 0, count: MotionCells.count))
    for picture in pictures {
      let now = picture.time.milliseconds
      bytes.appendNumber(now &- time)
      bytes.appendDifferences(from: luma, to: picture.luma)
      (time, luma) = (now, picture.luma)
    }
    return bytes
  }

  /// Reads a file's bytes. A picture that is cut off at the end is left out.
  ///
  /// - Throws: `ParameterError` if the bytes are not a recording.
  package init(bytes: [UInt8]) throws(ParameterError) {
    guard bytes.starts(with: Self.header) else {
      throw ParameterError(
        "recording", "does not begin with \(String(decoding: Self.header.dropLast(), as: UTF8.self))")
    }
    var rest = bytes[Self.header.count...]
    var (time, luma) = (Int64(0), [UInt8](repeating: 0, count: MotionCells.count))
    while let step = rest.takeNumber(), rest.takeDifferences(onto: &luma) {
      time = time &+ step
      let instant = CaptureInstant(sinceStart: .milliseconds(time))
      if let cells = MotionCells(luma, at: instant) { pictures.append(cells) }
    }
  }
}

extension CaptureInstant {
  fileprivate var milliseconds: Int64 {
    let (seconds, attoseconds) = sinceStart.components
    let half: Int64 = attoseconds < 0 ? -500_000_000_000_000 : 500_000_000_000_000
    return seconds &* 1000 &+ (attoseconds + half) / 1_000_000_000_000_000
  }
}

extension [UInt8] {
  fileprivate mutating func appendNumber(_ number: Int64) {
    var rest = UInt64(bitPattern: (number << 1) ^ (number >> 63))
    while rest >= 0x80 {
      append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }

  fileprivate mutating func appendDifferences(from old: [UInt8], to new: [UInt8]) {
    var zeros = 0
    func isZero(_ cell: Int) -> Bool { new[cell] == old[cell] }
    for cell in new.indices {
      guard isZero(cell) else {
        append(new[cell] &- old[cell])
        continue
      }
      zeros += 1
      if zeros == 256 || cell + 1 == new.count || !isZero(cell + 1) {
        append(0)
        append(UInt8(zeros - 1))
        zeros = 0
      }
    }
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func takeNumber() -> Int64? {
    var (number, shift) = (UInt64(0), UInt64(0))
    while let byte = popFirst(), shift < 64 {
      number |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1) }
      shift += 7
    }
    return nil
  }

  /// Returns whether the differences were complete.
  fileprivate mutating func takeDifferences(onto luma: inout [UInt8]) -> Bool {
    var cell = 0
    while cell < luma.count {
      guard let difference = popFirst() else { return false }
      if difference == 0 {
        guard let more = popFirst() else { return false }
        cell += Int(more) + 1
      } else {
        luma[cell] = luma[cell] &+ difference
        cell += 1
      }
    }
    return cell == luma.count
  }
}
