// Reads H.264 in fragments of MP4, as `FragmentedMP4` writes it: how nodes send one another video.

/// Takes fragments of one track apart as they arrive, in pieces of any size. No I/O and no clock.
package struct FragmentedMP4Reader: Sendable {
  package enum Event: Sendable, Hashable {
    /// A new stream begins: what its `avcC` box says, and the size to show if that is not the stream's own.
    case header([UInt8], shown: Size?)
    /// The NAL units of a picture, and its time by the sender's clock; nil if the sender only tells that it comes late.
    case picture([UInt8], says: Duration?)
  }

  /// Why nothing that follows can be read.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// Boxes other than pictures are small.
  static let boxLimit = 64 << 10

  private let pictureLimit: Int
  private var held: [UInt8] = []
  /// What the last `moof` says of the picture in the `mdat` that follows.
  private var next: (says: Duration?, byteCount: Int)?
  private var lastDuration: UInt32?

  package init(pictureLimit: Int) { self.pictureLimit = pictureLimit }

  package var waitingByteCount: Int { held.count }

  /// What `bytes` complete. After a failure, the stream is over.
  package mutating func take(_ bytes: ArraySlice<UInt8>) throws(Failure) -> [Event] {
    held += bytes
    var (events, begin): ([Event], Int) = ([], 0)
    defer { held.removeFirst(begin) }
    while held.count - begin >= 8 {
      let head = MP4Box.Head(held[begin...])
      let limit = head.type == "mdat" ? pictureLimit : Self.boxLimit
      guard head.length >= 8, head.length <= limit else {
        throw Failure(description: "a box of \(head.length) bytes, where \(limit) are the most")
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
        throw Failure(description: "a picture is not as its fragment says")
      }
      next = nil
      return .picture(Array(content), says: picture.says)
    default: break
    }
    return nil
  }

  private func header(_ movie: ArraySlice<UInt8>) throws(Failure) -> Event {
    let tracks = MP4Box.all(in: movie).filter { $0.type == "trak" }
    guard tracks.count == 1,
      let entry = MP4Box.find("mdia/minf/stbl/stsd", in: tracks[0].content)?.dropFirst(8),
      // The fields of a picture's sample entry (ISO/IEC 14496-12, 12.1.3).
      let description = MP4Box.find("avc1", in: entry)?.dropFirst(78),
      let configuration = MP4Box.find("avcC", in: description)
    else { throw Failure(description: "it is not one track of H.264") }
    let shown = MP4Box.find("clap", in: description).map { clean in
      Size(width: Int(clean.bigEndian(at: 0)), height: Int(clean.bigEndian(at: 8)))
    }
    return .header(Array(configuration), shown: shown)
  }

  /// One picture a fragment, with the fields that `FragmentedMP4` sets.
  private mutating func fragment(_ moof: ArraySlice<UInt8>) throws(Failure) -> (Duration?, Int) {
    guard let track = MP4Box.find("traf", in: moof), let time = MP4Box.find("tfdt", in: track),
      let run = MP4Box.find("trun", in: track), time.count == 12, run.count == 24,
      run.bigEndian(at: 0) & 0xff_ffff == 0x701, run.bigEndian(at: 4) == 1
    else { throw Failure(description: "a fragment is not one picture") }
    let duration = run.bigEndian(at: 12)
    defer { lastDuration = duration }
    // A picture after a gap begins, for players, where the last one ends.
    let isLate = lastDuration.map { UInt64(duration) > 2 * UInt64($0) } ?? false
    let ticks = UInt64(time.bigEndian(at: 4)) << 32 | UInt64(time.bigEndian(at: 8))
    let isTime = !isLate && ticks < UInt64(videoTimescale) << 32
    return (
      isTime ? .seconds(Double(ticks) / Double(videoTimescale)) : nil, Int(run.bigEndian(at: 16))
    )
  }
}
