// Files of fragments: when one is finished, its length is written into the room at its beginning. One that was not is finished later,
// up to its last whole fragment.

/// What is known of a file that `FragmentedMP4(isFile: true)` began.
package struct MP4Recording: Sendable, Hashable {
  /// The bytes up to the end of the last whole fragment.
  package let byteCount: Int
  /// The ticks of 1/90000 s up to there.
  package let length: Int
  /// Where its length stands, or is to be written.
  package let lengthOffset: Int
  /// Whether its length is written.
  package let isFinished: Bool
  /// What `FragmentedMP4` was given to note; empty without.
  package let note: [UInt8]

  /// The bytes of a box with a length, without its own header.
  static let lengthBytes = 12
  private static let boxLimit = 64 << 10

  /// Looks at a file of `size` bytes. `read` returns up to so many bytes from an offset on.
  ///
  /// - Returns: nil if it is no such file, or has no whole fragment.
  package init?(size: Int, read: (_ offset: Int, _ count: Int) -> [UInt8]) {
    var (offset, whole, length) = (0, 0, 0)
    var (room, end, note): (Int?, Int?, [UInt8]) = (nil, nil, [])
    while offset + 8 <= size {
      let head = MP4Box.Head(read(offset, 8)[...])
      guard head.length >= 8, offset + head.length <= size else { break }
      func content() -> [UInt8]? {
        head.length <= Self.boxLimit ? read(offset + 8, head.length - 8) : nil
      }
      switch head.type {
      case "moov" where room == nil:
        guard let movie = content(), let place = Self.room(in: movie) else { return nil }
        room = offset + 8 + place
        note = Self.note(at: offset + head.length, size, read)
        if let length = Self.length(at: place, in: movie) {
          (lengthOffset, byteCount, isFinished) = (offset + 8 + place, size, true)
          (self.length, self.note) = (length, note)
          return
        }
      case "moof":
        guard let fragment = content() else { break }
        end = Self.end(of: fragment[...])
      case "mdat":
        guard let last = end else { break }
        (whole, length, end) = (offset + head.length, last, nil)
      default: break
      }
      offset += head.length
    }
    guard let room, whole > 0 else { return nil }
    (lengthOffset, byteCount, isFinished) = (room, whole, false)
    (self.length, self.note) = (length, note)
  }

  private static let longestNote = 200

  private static func note(
    at offset: Int, _ size: Int, _ read: (_ offset: Int, _ count: Int) -> [UInt8]
  ) -> [UInt8] {
    guard offset + 8 <= size else { return [] }
    let head = MP4Box.Head(read(offset, 8)[...])
    guard head.type == "free", (9...longestNote + 8).contains(head.length), offset + head.length <= size
    else {
      return []
    }
    return read(offset + 8, head.length - 8)
  }

  /// What is written at `lengthOffset` to finish a file.
  package static func finish(length: Int) -> [UInt8] {
    var boxes = MP4Boxes()
    // A movie's length with its fragments (ISO/IEC 14496-12, 8.8.2).
    boxes.full("mehd", version: 1) { $0.put(UInt64(length)) }
    return boxes.bytes
  }

  /// Where the box with the length is, or the room for it.
  static func room(in movie: [UInt8]) -> Int? {
    guard let extends = MP4Box.find("mvex", in: movie[...]), let box = MP4Box.all(in: extends).first,
      ["free", "mehd"].contains(box.type), box.content.count == lengthBytes
    else { return nil }
    return box.content.startIndex - 8
  }

  /// Where the room is in a stream's first bytes.
  package static func lengthOffset(inBeginning bytes: [UInt8]) -> Int? {
    guard let movie = MP4Box.all(in: bytes[...]).first(where: { $0.type == "moov" }) else { return nil }
    return room(in: Array(movie.content)).map { movie.content.startIndex + $0 }
  }

  private static func length(at place: Int, in movie: [UInt8]) -> Int? {
    let box = movie[place...]
    guard MP4Box.Head(box).type == "mehd" else { return nil }
    return min(Int(clamping: UInt64(box.bigEndian(at: 12)) << 32 | UInt64(box.bigEndian(at: 16))), 1 << 60)
  }

  private static func end(of moof: ArraySlice<UInt8>) -> Int? {
    guard let track = MP4Box.find("traf", in: moof), let time = MP4Box.find("tfdt", in: track),
      let run = MP4Box.find("trun", in: track), time.count == 12, run.count == 24
    else { return nil }
    let begin = UInt64(time.bigEndian(at: 4)) << 32 | UInt64(time.bigEndian(at: 8))
    guard begin < 1 << 60 else { return nil }
    return Int(begin) + Int(run.bigEndian(at: 12))
  }
}
