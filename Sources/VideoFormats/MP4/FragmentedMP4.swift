// MP4 without a fixed beginning or end: for browsers (Media Source Extensions), pipes and connections.

/// Writes samples as MP4 fragments of one picture each.
///
/// ```swift
/// var mp4 = FragmentedMP4()
/// for try await sample in preview.video() where mp4.hasBegun || sample.isKey { send(mp4.append(sample)) }
/// ```
public struct FragmentedMP4: Sendable {
  private var format: H264Format?
  private var hasChanged = false
  private var start: CaptureInstant?
  private var sequence: UInt32 = 0
  /// The estimated time between samples, in ticks.
  private var interval = videoTimescale / 30
  /// The last sample's time, and the beginning and end of its fragment, in ticks.
  private var last: (time: Int, begin: Int, end: Int)?

  private let isFile: Bool
  private var note: [UInt8] = []
  private var beginning: CaptureInstant?

  /// Creates a stream whose time begins with its first sample.
  public init() { isFile = false }

  /// Creates a stream that players show from `time` on, although its first samples may be earlier.
  package init(beginningAt time: CaptureInstant) { (isFile, self.beginning) = (false, time) }

  /// Creates a stream that is stored as a file. Its beginning reserves space for its length, and has a note
  /// of at most `MP4Recording.longestNote` bytes that players skip.
  package init(isFile: Bool, note: [UInt8] = []) { (self.isFile, self.note) = (isFile, note) }

  /// The ticks of 1/90000 s from the first sample to the end of the last.
  package var length: Int { last?.end ?? 0 }

  /// Whether a sample was appended.
  public var hasBegun: Bool { format != nil }

  /// Returns the fragment of a sample, which has about a hundred bytes more than the sample. The first
  /// fragment, and each whose format differs from the previous one, has an initialization segment (`ftyp` and
  /// `moov`) before it, and its sample must be a keyframe. FFmpeg reads only the first segment: from the
  /// second on, keyframes have the parameter sets in their samples too.
  ///
  /// The duration of a fragment is the time since the previous sample, because the next one is not known.
  /// After a gap of more than two durations, browsers drop all pictures up to the next keyframe (Media Source
  /// Extensions, 3.5.8). The first sample after such a gap therefore begins at the end of the previous one,
  /// and lasts longer.
  public mutating func append(_ sample: VideoSample) -> [UInt8] {
    var boxes = MP4Boxes()
    let start = start ?? sample.timestamp
    self.start = start
    if sample.format != format {
      hasChanged = format != nil
      format = sample.format
      boxes.put(
        Self.initialization(sample.format, isFile: isFile, from: beginning?.ticks(since: start) ?? 0))
      if !hasChanged, !note.isEmpty { boxes.box("free") { [note] in $0.put(note) } }
    }
    let time = max(sample.timestamp.ticks(since: start), 0)
    let (begin, end) = span(of: time)
    last = (time, begin, end)
    sequence &+= 1
    let sets = hasChanged && sample.isKey ? [sample.format.sps, sample.format.pps] : []
    fragment(sample, Self.units(sets) + sample.bytes, begin..<end, into: &boxes)
    return boxes.bytes
  }

  /// Returns NAL units, each preceded by its length in four bytes.
  private static func units(_ units: [[UInt8]]) -> [UInt8] {
    var bytes: [UInt8] = []
    for unit in units {
      bytes.append(bigEndian: UInt32(truncatingIfNeeded: unit.count))
      bytes += unit
    }
    return bytes
  }

  /// Returns when the fragment of a sample begins and ends.
  private mutating func span(of time: Int) -> (begin: Int, end: Int) {
    guard let last else { return (time, time + interval) }
    let gap = min(max(time - last.time, 1), 10 * videoTimescale)
    let isLate = time - last.begin > 2 * (last.end - last.begin)
    // A single long gap may at most double the interval.
    interval = isLate ? min(gap, 2 * interval) : gap
    let begin = isLate ? last.end : max(time, last.begin + 1)
    return (begin, max(time, begin) + interval)
  }

  /// Returns the initialization segment of a format. It has no durations, which marks a live stream for
  /// players.
  public static func initialization(_ format: H264Format) -> [UInt8] {
    initialization(format, isFile: false, from: 0)
  }

  private static func initialization(_ format: H264Format, isFile: Bool, from begin: Int) -> [UInt8] {
    var boxes = MP4Boxes()
    boxes.fileType("iso6")
    boxes.movie(
      [format], duration: 0, from: begin,
      tables: { table in
        for empty in ["stts", "stsc", "stco"] { table.full(empty) { $0.zeros(4) } }
        table.full("stsz") { $0.zeros(8) }
      },
      more: { movie in
        movie.box("mvex") { extends in
          if isFile { extends.box("free") { $0.zeros(MP4Recording.lengthBytes) } }
          extends.full("trex") { $0.put(UInt32(1), 1, 0, 0, 0) }
        }
      })
    return boxes.bytes
  }

  private func fragment(
    _ sample: VideoSample, _ bytes: [UInt8], _ span: Range<Int>, into boxes: inout MP4Boxes
  ) {
    let begin = boxes.bytes.count
    var offset = 0
    boxes.box("moof") { fragment in
      fragment.full("mfhd") { $0.put(sequence) }
      fragment.box("traf") { track in
        // Offsets count from the fragment's first byte.
        track.full("tfhd", flags: 0x020000) { $0.put(UInt32(1)) }
        track.full("tfdt", version: 1) { $0.put(UInt64(span.lowerBound)) }
        // With the offset of the data, and each sample's duration, size and flags: whether it depends on
        // other samples.
        track.full("trun", flags: 0x000701) {
          $0.put(UInt32(1))
          offset = $0.bytes.count
          $0.put(UInt32(0))
          $0.put(
            UInt32(clamping: span.count), UInt32(clamping: bytes.count),
            sample.isKey ? 0x0200_0000 : 0x0101_0000)
        }
      }
    }
    boxes.set(UInt32(boxes.bytes.count - begin + 8), at: offset)
    boxes.box("mdat") { $0.put(bytes) }
  }
}
