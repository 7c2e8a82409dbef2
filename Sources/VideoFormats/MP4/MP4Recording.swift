// Fragmented files. When a file is finished, its length is written into the space reserved at its beginning.
// A file that was not finished is finished later, up to its last whole fragment.

/// The state of a file that `FragmentedMP4(isFile: true)` has begun.
package struct MP4Recording: Sendable, Hashable {
  /// The file's bytes up to the end of the last whole fragment.
  package let byteCount: Int
  /// The duration up to there, in ticks of 1/90000 s.
  package let length: Int
  /// The offset of the box with the length, or of the space reserved for it.
  package let lengthOffset: Int
  /// Whether the length has been written.
  package let isFinished: Bool
  /// The note that was passed to `FragmentedMP4`; empty without one.
  package let note: [UInt8]

  /// The bytes of the box with the length, without its header.
  static let lengthBytes = 12
  private static let boxLimit = 64 << 10

  /// Inspects a file of `size` bytes. `read` returns at most `count` bytes from `offset` on.
  ///
  /// - Returns: nil if it is not such a file, or if it is not finished and has no whole fragment.
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

  /// The most bytes of a note.
  package static let longestNote = 16 << 10

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

  /// Returns the bytes to write at `lengthOffset` to finish a file.
  package static func finish(length: Int) -> [UInt8] {
    var boxes = MP4Boxes()
    // A movie's length with its fragments (ISO/IEC 14496-12, 8.8.2).
    boxes.full("mehd", version: 1) { $0.put(UInt64(length)) }
    return boxes.bytes
  }

  /// Returns the offset of the box with the length, or of the space reserved for it.
  static func room(in movie: [UInt8]) -> Int? {
    guard let extends = MP4Box.find("mvex", in: movie[...]), let box = MP4Box.all(in: extends).first,
      ["free", "mehd"].contains(box.type), box.content.count == lengthBytes
    else { return nil }
    return box.content.startIndex - 8
  }

  /// Returns this offset in a stream's first bytes.
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
