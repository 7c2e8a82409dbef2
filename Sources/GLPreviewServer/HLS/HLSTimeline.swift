// A view's H.264, cut into the segments of a playlist (RFC 8216). No I/O and no clock.
internal import NIOCore

/// The newest segments of a view. Each begins with a keyframe.
struct HLSTimeline: Sendable {
  struct Segment: Sendable {
    let number: Int
    /// The number of the first segment with the same initialization segment.
    let map: Int
    let discontinuity: Int
    let format: H264Format
    let begin: CaptureInstant
    /// When it begins, in ticks of its fragments.
    let start: Int
    let lease: MemoryLease
    fileprivate(set) var bytes = ByteBuffer()
    fileprivate(set) var duration = Duration.zero
  }

  /// A keyframe is requested after `usual`, and begins a segment after `shortest`.
  private static let (shortest, usual) = (Duration.milliseconds(1500), Duration.milliseconds(1900))
  /// The target duration in seconds, set by the first segment.
  private(set) var target: Int?
  private var segments: [Segment] = []
  private var open: Segment?
  private var mp4 = FragmentedMP4()
  private var (map, next, discontinuity): (Int, Int, Int)

  /// Sequence numbers begin with `number`. If that is the second of the creation, they increase from timeline
  /// to timeline, so a player that was paused continues with the next one.
  init(from number: Int) { (map, next, discontinuity) = (number, number, number) }

  /// Adds the next sample. Returns whether the next segment lacks a keyframe.
  mutating func append(_ sample: VideoSample, within budget: MemoryBudget) throws -> Bool {
    let age = open.map { sample.timestamp - $0.begin } ?? .zero
    if age >= longest || open.map({ $0.format != sample.format }) ?? false {
      restart()
    } else if sample.isKey, age >= Self.shortest {
      close(after: age)
    }
    guard open != nil || sample.isKey else { return true }
    // The playlist names the initialization segment.
    let skipped = mp4.hasBegun ? 0 : FragmentedMP4.initialization(sample.format).count
    if !mp4.hasBegun { map = next }
    var segment =
      try open
      ?? Segment(
        number: next, map: map, discontinuity: discontinuity, format: sample.format,
        begin: sample.timestamp, start: mp4.length, lease: budget.reserve(0))
    open = nil
    let fragment = mp4.append(sample).dropFirst(skipped)
    // A buffer has less than twice the bytes that it holds.
    try segment.lease.resize(to: 2 * (segment.bytes.writerIndex + fragment.count))
    segment.bytes.writeBytes(fragment)
    open = segment
    return sample.format.encoder != nil && age >= Self.usual && !sample.isKey
  }

  /// The longest duration that rounds to the target duration.
  private var longest: Duration { .milliseconds((target ?? 6) * 1000 + 499) }

  private mutating func close(after duration: Duration) {
    guard var segment = open else { return }
    segment.duration = duration
    let target = target ?? max(3, Int((duration / .seconds(1)).rounded(.up)))
    (open, next, self.target) = (nil, next + 1, target)
    segments.append(segment)
    // A segment that has left the playlist stays for the playlist's duration and its own (6.2.2).
    segments.removeFirst(newest(8 * target))
  }

  /// The next sample begins with another initialization segment. Samples before the first whole segment are
  /// left out.
  private mutating func restart() {
    if target != nil, let open {
      close(after: min(.seconds(Double(max(mp4.length - open.start, 3000)) / 90_000), longest))
      discontinuity += 1
    }
    (open, mp4) = (nil, FragmentedMP4())
  }

  /// The index of the first of the newest segments that last so many seconds.
  private func newest(_ seconds: Int) -> Int {
    segments.indices.last { segments[$0...].reduce(.zero) { $0 + $1.duration } >= .seconds(seconds) } ?? 0
  }

  /// The playlist of the newest segments; nil if there are none. Each segment's URI begins with `path` and
  /// ends with `query`.
  func playlist(_ path: String, _ query: String) -> String? {
    let listed = segments[newest(3 * (target ?? 0))...]
    guard let target, let first = listed.first else { return nil }
    var lines = [
      "#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:\(target)",
      "#EXT-X-MEDIA-SEQUENCE:\(first.number)", "#EXT-X-DISCONTINUITY-SEQUENCE:\(first.discontinuity)",
      "#EXT-X-INDEPENDENT-SEGMENTS",
    ]
    var map: Int?
    for segment in listed {
      if let map, map != segment.map { lines.append("#EXT-X-DISCONTINUITY") }
      if map != segment.map { lines.append("#EXT-X-MAP:URI=\"\(path)/\(segment.map).mp4?\(query)\"") }
      map = segment.map
      lines += [
        "#EXT-X-PROGRAM-DATE-TIME:\(WallTime(capturedAt: segment.begin))",
        "#EXTINF:\(segment.duration / .seconds(1)),", "\(path)/\(segment.number).m4s?\(query)",
      ]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A segment or an initialization segment, by its name in the playlist.
  func file(_ name: String) -> (bytes: ByteBuffer, lease: MemoryLease)? {
    segments.first { name == "\($0.number).m4s" || name == "\($0.map).mp4" }.map {
      (name.hasSuffix("4s") ? $0.bytes : ByteBuffer(bytes: FragmentedMP4.initialization($0.format)), $0.lease)
    }
  }
}
