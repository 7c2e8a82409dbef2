// Reads H.264 in fragmented MP4, as `FragmentedMP4` writes it. Nodes send each other video in this form.

/// Parses fragments of one track as they arrive, in pieces of any size. It does no I/O and has no clock.
package struct FragmentedMP4Reader: Sendable {
  package enum Event: Sendable, Hashable {
    /// A new stream begins: the content of its `avcC` box, and the size to show if it differs from the
    /// stream's own.
    case header([UInt8], shown: Size?)
    /// The NAL units of a picture, and its time by the sender's clock; nil after a gap, where the fragment
    /// begins before the picture.
    case picture([UInt8], mediaTime: Duration?)
  }

  /// The reason why the rest of the stream can't be read.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// The largest size of boxes other than pictures.
  static let boxLimit = 64 << 10

  private let pictureLimit: Int
  private var held: [UInt8] = []
  /// The time and size of the picture in the next `mdat`, from the last `moof`.
  private var next: (mediaTime: Duration?, byteCount: Int)?
  private var lastDuration: UInt32?

  package init(pictureLimit: Int) { self.pictureLimit = pictureLimit }

  package var waitingByteCount: Int { held.count }

  /// Returns the events that `bytes` complete. After a failure, the stream is over.
  package mutating func take(_ bytes: ArraySlice<UInt8>) throws(Failure) -> [Event] {
    held += bytes
    var (events, begin): ([Event], Int) = ([], 0)
    defer { held.removeFirst(begin) }
    while held.count - begin >= 8 {
      let head = MP4Box.Head(held[begin...])
      let limit = head.type == "mdat" ? pictureLimit : Self.boxLimit
      guard head.length >= 8, head.length <= limit else {
        throw Failure(description: "a box of \(head.length) bytes, more than the limit of \(limit)")
      }
      guard head.length <= held.count - begin else { break }
      let content = held[begin + 8..<begin + head.length]
      begin += head.length
      if let event = try read(head.type, content) { events.append(event) }
    }
    return events
  }

  private mutating func read(_ type: String, _ content: ArraySlice<UInt8>) throws(Failure) -> Event? {
    switch type {
    case "moov":
      (next, lastDuration) = (nil, nil)
      return try header(content)
    case "moof": next = try fragment(content)
    case "mdat":
      guard let picture = next, picture.byteCount == content.count else {
        throw Failure(description: "a picture does not match its fragment")
      }
      next = nil
      return .picture(Array(content), mediaTime: picture.mediaTime)
    default: break
    }
    return nil
  }

  private func header(_ movie: ArraySlice<UInt8>) throws(Failure) -> Event {
    let tracks = MP4Box.all(in: movie).filter { $0.type == "trak" }
    guard tracks.count == 1,
      let entry = MP4Box.find("mdia/minf/stbl/stsd", in: tracks[0].content)?.dropFirst(8),
      // The fields of a visual sample entry (ISO/IEC 14496-12, 12.1.3) are skipped.
      let description = MP4Box.find("avc1", in: entry)?.dropFirst(78),
      let configuration = MP4Box.find("avcC", in: description)
    else { throw Failure(description: "it is not a single track of H.264") }
    let shown = MP4Box.find("clap", in: description).map { clean in
      Size(width: Int(clean.bigEndian(at: 0)), height: Int(clean.bigEndian(at: 8)))
    }
    return .header(Array(configuration), shown: shown)
  }

  /// Parses a fragment, which has one picture and the fields that `FragmentedMP4` sets.
  private mutating func fragment(_ moof: ArraySlice<UInt8>) throws(Failure) -> (Duration?, Int) {
    guard let track = MP4Box.find("traf", in: moof), let time = MP4Box.find("tfdt", in: track),
      let run = MP4Box.find("trun", in: track), time.count == 12, run.count == 24,
      run.bigEndian(at: 0) & 0xff_ffff == 0x701, run.bigEndian(at: 4) == 1
    else { throw Failure(description: "a fragment is not one picture") }
    let duration = run.bigEndian(at: 12)
    defer { lastDuration = duration }
    // After a gap, a fragment begins at the end of the previous one, not at its picture's time.
    let isLate = lastDuration.map { UInt64(duration) > 2 * UInt64($0) } ?? false
    let ticks = UInt64(time.bigEndian(at: 4)) << 32 | UInt64(time.bigEndian(at: 8))
    let isTime = !isLate && ticks < UInt64(videoTimescale) << 32
    return (
      isTime ? .seconds(Double(ticks) / Double(videoTimescale)) : nil, Int(run.bigEndian(at: 16))
    )
  }
}
