// MP4 that begins anywhere and has no end: for browsers (Media Source Extensions), pipes and connections.
internal import PreviewCore

/// Puts samples into fragments of one picture each.
///
/// ```swift
/// var mp4 = FragmentedMP4()
/// for try await sample in preview.video() where mp4.hasBegun || sample.isKey { send(mp4.append(sample)) }
/// ```
public struct FragmentedMP4: Sendable {
  private var format: H264Format?
  private var start: CaptureInstant?
  private var last: CaptureInstant?
  private var sequence: UInt32 = 0
  /// The time between the last two samples, in ticks.
  private var interval = videoTimescale / 30

  /// Creates a stream; its time begins with the first sample's.
  public init() {}

  /// Whether a sample was appended.
  public var hasBegun: Bool { format != nil }

  /// The fragment of a sample: about a hundred bytes more than the sample has. The first one, and each whose format
  /// differs, has an initialization segment (`ftyp` and `moov`) before it, and must be a key picture.
  ///
  /// The duration that a fragment tells is the time between the two samples before, since the next one is not known.
  public mutating func append(_ sample: VideoSample) -> [UInt8] {
    var boxes = MP4Boxes()
    if sample.format != format {
      format = sample.format
      boxes.put(Self.initialization(sample.format))
    }
    let start = start ?? sample.timestamp
    self.start = start
    let time = max(sample.timestamp.ticks(since: start), 0)
    if let last { interval = min(max(time - last.ticks(since: start), 1), 10 * videoTimescale) }
    last = sample.timestamp
    sequence &+= 1
    fragment(sample, at: UInt64(time), into: &boxes)
    return boxes.bytes
  }

  /// The initialization segment of a format: no durations, by which players know that it is live.
  public static func initialization(_ format: H264Format) -> [UInt8] {
    var boxes = MP4Boxes()
    boxes.fileType("iso6")
    boxes.movie(
      [format], duration: 0,
      tables: { table in
        for empty in ["stts", "stsc", "stco"] { table.full(empty) { $0.zeros(4) } }
        table.full("stsz") { $0.zeros(8) }
      },
      more: { movie in
        movie.box("mvex") { $0.full("trex") { $0.put(UInt32(1), 1, 0, 0, 0) } }
      })
    return boxes.bytes
  }

  private func fragment(_ sample: VideoSample, at time: UInt64, into boxes: inout MP4Boxes) {
    let begin = boxes.bytes.count
    var offset = 0
    boxes.box("moof") { fragment in
      fragment.full("mfhd") { $0.put(sequence) }
      fragment.box("traf") { track in
        // Offsets count from the fragment's first byte.
        track.full("tfhd", flags: 0x020000) { $0.put(UInt32(1)) }
        track.full("tfdt", version: 1) { $0.put(time) }
        // With an offset of the data, and of each sample its duration, size and flags: whether others rest on it.
        track.full("trun", flags: 0x000701) {
          $0.put(UInt32(1))
          offset = $0.bytes.count
          $0.put(UInt32(0))
          $0.put(UInt32(interval), UInt32(sample.bytes.count), sample.isKey ? 0x0200_0000 : 0x0101_0000)
        }
      }
    }
    boxes.set(UInt32(boxes.bytes.count - begin + 8), at: offset)
    boxes.box("mdat") { $0.put(sample.bytes) }
  }
}
