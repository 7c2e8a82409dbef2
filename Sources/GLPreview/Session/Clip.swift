// A view over a time range: its buffered pictures, and those that are still to come.

/// A view over a time range, as pictures, H.264, MP4 or an animated WebP.
///
/// Each buffered picture of the range comes once, in the order of arrival; the clip waits for those that are
/// still to come. It ends when the range is over, or when the view is changed, disabled or removed.
///
/// ```swift
/// let clip = try session.clip(.now - .seconds(5) ... .now + .seconds(5))
/// try Data(await clip.mp4()).write(to: file)
/// ```
public struct Clip: Sendable {
  /// The time range, by `CaptureClock`.
  public let times: ClosedRange<CaptureInstant>
  let feed: SourceFeed
  let preview: Preview
  private let version: Int
  let view: ViewConfiguration
  /// Whether it moves with the preview.
  private let isPosed: Bool
  private let configuration: VideoConfiguration
  private let mayGoOn: @Sendable () -> Bool

  /// Creates a clip of `view` (nil: the preview's own). With `follows`, it moves with the preview. It also ends when
  /// `mayGoOn`, called before each picture and once a second while none arrives, returns false.
  ///
  /// - Throws: `SessionError` if the preview is a scene.
  package init(
    of preview: Preview, as view: ViewConfiguration? = nil, follows: Bool = true,
    _ times: ClosedRange<CaptureInstant>, _ configuration: VideoConfiguration = VideoConfiguration(),
    while mayGoOn: @escaping @Sendable () -> Bool = { true }
  ) throws(SessionError) {
    guard let feed = preview.producer as? SourceFeed else {
      throw SessionError("a scene has no replay buffer: its sources have")
    }
    let current = preview.current
    guard let own = current.configuration.view else {
      throw SessionError("preview '\(preview.name)' is a scene")
    }
    (self.preview, self.feed, self.times, self.configuration) = (preview, feed, times, configuration)
    (version, self.view, self.mayGoOn) = (current.version, view ?? own, mayGoOn)
    isPosed = view == nil || follows
  }

  /// Returns the clip's pictures, which are drawn as they are read.
  ///
  /// - Parameters:
  ///   - format: their sample format.
  ///   - interval: the least time between two pictures; zero for all.
  /// - Returns: a sequence, each of whose iterators starts at the first picture.
  public func pictures(as format: Picture.Format = .rgba, every interval: Duration = .zero) -> ClipPictures {
    ClipPictures(clip: self, format: format, interval: interval)
  }

  /// The pictures as H.264. The camera's own H.264 is copied wherever `ViewPreview.video` would pass it
  /// through; the samples then begin with the keyframe at or before the first picture of the range.
  public var samples: ClipSamples { ClipSamples(clip: self) }

  /// Returns the whole clip as an MP4 file. If it holds the camera's own H.264, an edit list makes players
  /// start with the first picture of the range.
  ///
  /// - Throws: `NotBuffered` if no picture of the range is buffered; `VideoError`, the errors of drawing.
  public func mp4() async throws -> [UInt8] {
    var samples = samples.makeAsyncIterator()
    guard let first = try await samples.next() else { throw notBuffered }
    return try await Array(Self.file(first, samples).joined())
  }

  /// Returns the MP4 file of a clip's first sample and those that follow it. The parts share their bytes with
  /// the replay buffer. `lease` grows to twice their size, because they are held while copies are sent.
  ///
  /// - Throws: `MemoryBudget.Exceeded`, the errors of the samples.
  package static func file(
    _ first: VideoSample, _ rest: ClipSamples.Iterator, holding lease: MemoryLease? = nil
  ) async throws -> [[UInt8]] {
    var (rest, tables, size) = (rest, MP4Tables(), 0)
    // The header is written last, but comes first in the file.
    var parts: [[UInt8]] = [[]]
    var next = Optional(first)
    while let sample = next {
      size += sample.bytes.count
      try lease?.resize(to: 2 * size)
      tables.append(sample)
      parts.append(sample.bytes)
      next = try await rest.next()
    }
    parts[0] = tables.head(lastDuration: nil, beginningAt: rest.begin)
    return parts
  }

  /// The limits of an animation: its pictures, and the pixels of all of them together.
  package static let mostAnimated = (pictures: 300, pixels: 100_000_000)

  /// Returns the whole clip as an animated WebP that repeats forever, of at most 300 pictures, 100 megapixels
  /// in total, and 32 MB.
  ///
  /// - Parameters:
  ///   - framesPerSecond: the most pictures per second.
  ///   - quality: 1...100, libwebp's scale; clamped.
  /// - Returns: the file.
  /// - Throws: `NotBuffered` if no picture of the range is buffered; `WebPError`, `MemoryBudget.Exceeded`, the
  ///   errors of drawing.
  public func webP(framesPerSecond: Double = 5, quality: Int = 75) async throws -> [UInt8] {
    try await webP(
      framesPerSecond: framesPerSecond, quality: quality, holding: feed.budget?.reserve(0))
  }

  /// Does what `webP(framesPerSecond:quality:)` does. Before each picture is encoded, `lease` grows to the
  /// encoder's working memory plus three times the file so far; in the end it is the file's memory.
  /// `whenCaughtUp` is called before the clip waits for pictures that are still to come.
  package func webP(
    framesPerSecond: Double, quality: Int, holding lease: MemoryLease?, whenCaughtUp: () -> Void = {}
  ) async throws -> [UInt8] {
    try WebPAnimation.load()
    let interval = Duration.seconds(1 / min(max(framesPerSecond, 0.01), 1000))
    let quality = min(max(quality, 1), 100)
    var (animation, count, last): (WebPAnimation?, Int, CaptureInstant?) = (nil, 0, nil)
    var size = Size(width: 0, height: 0)
    var iterator = pictures(every: interval).makeAsyncIterator()
    while true {
      if iterator.isCaughtUp { whenCaughtUp() }
      guard let rendered = try await iterator.next() else { break }
      let picture = rendered.picture
      if animation == nil { (animation, size) = (WebPAnimation(picture.size), picture.size) }
      // The camera has changed its mode: pictures of another size are left out.
      guard picture.size == size else { continue }
      count += 1
      let most = Self.mostAnimated
      guard count <= most.pictures, count * size.pixelCount <= most.pixels else {
        throw WebPError(
          .tooLarge,
          "an animation has at most \(most.pictures) pictures and \(most.pixels / 1_000_000) megapixels: lower its time, rate or width"
        )
      }
      try lease?.resize(to: 3 * (animation?.byteCount ?? 0) + WebPAnimation.workingBytes(size))
      let file = try await Task(executorPreference: DecodingQueue.shared) {
        try WebPAnimation.encoded(picture, quality: quality)
      }.value
      try animation?.append(file, after: rendered.timestamp - (last ?? rendered.timestamp))
      last = rendered.timestamp
    }
    guard var animation else { throw notBuffered }
    let file = animation.finish(lastDuration: interval)
    try lease?.resize(to: file.capacity)
    return file
  }

  /// The error of a clip without pictures.
  package var notBuffered: NotBuffered { feed.notBuffered(times.upperBound) }

  /// Whether the view still is as it was when the clip was created.
  var isShown: Bool {
    let current = preview.current
    return current.version == version && !current.isRemoved && current.configuration.isEnabled && mayGoOn()
  }

  /// Returns the view as it is drawn in a frame that was captured at `time`.
  func posedView(at time: CaptureInstant) -> ViewConfiguration {
    isPosed ? preview.posed(view, at: time) : view
  }

  /// Whether a picture captured at `time` may be shown.
  func shows(_ time: CaptureInstant) -> Bool { preview.shows(time) }

  /// Whether the camera's own H.264 can be copied, because the view shows exactly that.
  var copies: Bool {
    let current = preview.current.configuration
    var view = view
    view.name = preview.name
    return configuration.takesAnyVideo && current.passesVideo && current.view == view
      && feed.source.videoRefusal == nil
  }

  var encoder: VideoEncoder { VideoEncoder(configuration, within: feed.budget) }
  var keys: KeySchedule { KeySchedule(every: configuration.keyframeInterval) }
}

/// The pictures of a clip, one after another.
public struct ClipPictures: AsyncSequence, Sendable {
  let clip: Clip
  let format: Picture.Format
  let interval: Duration

  /// Creates an iterator that starts at the first picture.
  public func makeAsyncIterator() -> Iterator {
    Iterator(cursor: ClipCursor(clip), format: format, interval: interval)
  }

  /// Draws pictures.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    fileprivate var cursor: ClipCursor
    fileprivate let format: Picture.Format
    fileprivate let interval: Duration
    /// When the next picture is due.
    private var due: CaptureInstant?

    fileprivate init(cursor: ClipCursor, format: Picture.Format, interval: Duration) {
      (self.cursor, self.format, self.interval) = (cursor, format, interval)
    }

    var isCaughtUp: Bool { cursor.isCaughtUp }

    /// Returns the next picture; nil at the end.
    public mutating func next() async throws -> RenderedPicture? {
      while let entry = try await cursor.next() {
        guard interval == .zero || due.map({ entry.timestamp >= $0 }) ?? true,
          let picture = try await cursor.draw(entry, as: format)
        else { continue }
        let next = (due ?? entry.timestamp) + interval
        due = next > entry.timestamp ? next : entry.timestamp + interval
        return picture
      }
      return nil
    }
  }
}

/// The samples of a clip, one after another.
public struct ClipSamples: AsyncSequence, Sendable {
  let clip: Clip

  /// Creates an iterator that starts at the first picture, with its own encoder.
  public func makeAsyncIterator() -> Iterator { Iterator(clip) }

  /// Copies or encodes pictures.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private var cursor: ClipCursor
    private let encoder: VideoEncoder
    private var keys: KeySchedule
    /// Copied samples that were not returned yet.
    private var samples: [VideoSample] = []
    /// The number of the last picture, if that was copied.
    private var copied: Int?
    private var last: VideoSample?
    /// The timestamp of the first picture in the clip's range, once it is known. Earlier samples are only
    /// there because that picture depends on them.
    public private(set) var begin: CaptureInstant?

    init(_ clip: Clip) {
      (cursor, encoder, keys) = (ClipCursor(clip), clip.encoder, clip.keys)
    }

    /// Whether all buffered samples were returned: the next one is still to come.
    package var isCaughtUp: Bool { samples.isEmpty && cursor.isCaughtUp }

    /// Returns the next sample; nil at the end.
    public mutating func next() async throws -> VideoSample? {
      while true {
        while samples.isEmpty {
          guard let entry = try await cursor.next() else { return nil }
          samples = copies(of: entry)
          if samples.isEmpty, let sample = try await encoded(entry) { samples = [sample] }
          begin = begin ?? samples.last?.timestamp
        }
        guard cursor.clip.isShown else { return nil }
        if samples.allSatisfy({ cursor.clip.shows($0.timestamp) }) { break }
        // The preview was disabled meanwhile. Later samples must not depend on the ones that are left out.
        (samples, copied) = ([], -1)
      }
      let sample = samples.removeFirst()
      let next = last.map { sample.later(than: $0.timestamp) } ?? sample
      last = next
      return next
    }

    /// Returns the camera's own samples up to a picture, starting after the last copied sample or with a
    /// keyframe; none if the picture must be encoded.
    private mutating func copies(of entry: ReplayBuffer.Entry) -> [VideoSample] {
      guard cursor.clip.copies, case .h264 = entry.content, let buffer = cursor.clip.feed.replay?.buffer
      else { return [] }
      let path = buffer.path(through: entry.sequence)
      let place = copied.flatMap { copied in path.firstIndex { $0.sequence == copied } }
      // After encoded pictures, copying starts again at the next keyframe.
      guard place != nil || last == nil || entry.isKey else { return [] }
      let rest = path[(place.map { $0 + 1 } ?? 0)...]
      let samples = rest.compactMap { entry -> VideoSample? in
        guard case .h264(let sample, _) = entry.content, cursor.clip.shows(entry.timestamp) else {
          return nil
        }
        return sample.at(entry.timestamp)
      }
      guard samples.count == rest.count else { return [] }
      copied = entry.sequence
      return samples
    }

    private mutating func encoded(_ entry: ReplayBuffer.Entry) async throws -> VideoSample? {
      guard let drawn = try await cursor.draw(entry, as: .video) else { return nil }
      let isKey = copied != nil || last == nil || keys.isDue(at: entry.timestamp)
      let sample = try await encoder.encode(drawn.picture, at: entry.timestamp, isKey: isKey)
      copied = nil
      if sample.isKey { keys.came(at: entry.timestamp) }
      return sample
    }
  }
}

extension PreviewSession {
  /// Returns a clip of a preview: its buffered pictures of a time range (`SessionSource.replay`), and those
  /// that arrive until the range ends.
  ///
  /// - Parameters:
  ///   - times: the time range. The part that is no longer buffered is left out.
  ///   - preview: the preview's name; nil for the first one of a single source.
  ///   - configuration: the encoder settings, for pictures that are not copied.
  /// - Returns: the clip. Nothing is read before one of its sequences is.
  /// - Throws: `SessionError` if there is no such preview, or it is a scene.
  public func clip(
    _ times: ClosedRange<CaptureInstant>, of preview: String? = nil,
    _ configuration: VideoConfiguration = VideoConfiguration()
  ) throws(SessionError) -> Clip {
    let found = allPreviews.first { preview == nil ? $0.sourceName != nil : $0.name == preview }
    guard let found else { throw SessionError("no preview '\(preview ?? "")'") }
    return try Clip(of: found, times, configuration)
  }
}
