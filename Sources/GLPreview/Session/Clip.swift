// A view at a time: the pictures that are kept of it, and those that are still to come.

/// What a view shows of a time, as pictures, H.264, MP4 or an animated WebP.
///
/// Each kept picture of the time comes once, in the order of arrival; those that are still to come are waited for. It ends when the time
/// is over, or the view is changed, disabled or removed.
///
/// ```swift
/// let clip = try session.clip(.now - .seconds(5) ... .now + .seconds(5))
/// try Data(await clip.mp4()).write(to: file)
/// ```
public struct Clip: Sendable {
  /// The time.
  public let times: ClosedRange<CaptureInstant>
  let feed: SourceFeed
  private let preview: Preview
  private let version: Int
  let view: ViewConfiguration
  private let configuration: VideoConfiguration
  private let mayGoOn: @Sendable () -> Bool

  /// A clip of another view of the preview's source. It also ends when `mayGoOn` says so, which is asked before each picture, and
  /// once a second while there is none.
  ///
  /// - Throws: `SessionError` if the preview is a scene.
  package init(
    of preview: Preview, as view: ViewConfiguration? = nil, _ times: ClosedRange<CaptureInstant>,
    _ configuration: VideoConfiguration = VideoConfiguration(),
    while mayGoOn: @escaping @Sendable () -> Bool = { true }
  ) throws(SessionError) {
    guard let feed = preview.producer as? SourceFeed else {
      throw SessionError("a scene keeps no pictures: its sources do")
    }
    let current = preview.current
    let own = try preview.view(of: current.configuration)
    (self.preview, self.feed, self.times, self.configuration) = (preview, feed, times, configuration)
    (version, self.view, self.mayGoOn) = (current.version, view ?? own, mayGoOn)
  }

  /// The pictures.
  ///
  /// - Parameters:
  ///   - format: their sample format.
  ///   - interval: the least time between two pictures; zero for all.
  /// - Returns: a sequence, each of whose iterators begins at the beginning.
  public func pictures(as format: Picture.Format = .rgba, every interval: Duration = .zero) -> ClipPictures {
    ClipPictures(clip: self, format: format, interval: interval)
  }

  /// The pictures as H.264. A camera's own is copied in the cases in which `ViewPreview.video` passes it on: it begins with the key
  /// picture at or before the first picture of the time.
  public var samples: ClipSamples { ClipSamples(clip: self) }

  /// All of it as an MP4 file. Of a camera's own H.264, an edit list tells players to begin with the first picture of the time.
  ///
  /// - Returns: the file.
  /// - Throws: `NotKept` if nothing is kept of the time; `VideoError`, the errors of drawing.
  public func mp4() async throws -> [UInt8] {
    var samples = samples.makeAsyncIterator()
    guard let first = try await samples.next() else { throw notKept }
    return try await Array(Self.file(first, samples).joined())
  }

  /// The whole file of a clip's first sample and those that follow it, in parts that share their bytes with what is kept.
  /// `lease` grows to twice their size: they are held while copies are sent.
  ///
  /// - Throws: `MemoryBudget.Exceeded`, the errors of the samples.
  package static func file(
    _ first: VideoSample, _ rest: ClipSamples.Iterator, holding lease: MemoryLease? = nil
  ) async throws -> [[UInt8]] {
    var (rest, tables, size) = (rest, MP4Tables(), 0)
    // The head comes last, and stands first.
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

  /// The most pictures of an animation, and the most pixels of all of them.
  package static let mostAnimated = (pictures: 300, pixels: 100_000_000)

  /// All of it as an animated WebP that is repeated for ever, of at most 300 pictures, 100 megapixels in sum, and 32 MB.
  ///
  /// - Parameters:
  ///   - framesPerSecond: the most pictures a second.
  ///   - quality: 1...100, libwebp's scale; clamped.
  /// - Returns: the file.
  /// - Throws: `NotKept` if nothing is kept of the time; `WebPError`, `MemoryBudget.Exceeded`, the errors of drawing.
  public func webP(framesPerSecond: Double = 5, quality: Int = 75) async throws -> [UInt8] {
    try await webP(
      framesPerSecond: framesPerSecond, quality: quality, holding: feed.budget?.reserve(0))
  }

  /// The same. `lease` grows before each picture is encoded, to what that takes and three times the file so far, which is
  /// copied when it outgrows its memory; in the end it is as large as the file's memory. `whenCaughtUp` is called before
  /// pictures that are still to come are waited for.
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
      // The camera has changed its mode.
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
    guard var animation else { throw notKept }
    let file = animation.finish(lastDuration: interval)
    try lease?.resize(to: file.capacity)
    return file
  }

  /// The error of a clip without pictures.
  package var notKept: NotKept { feed.notKept(times.upperBound) }

  // MARK: For its readers

  /// Whether it still shows what it showed when it was asked for.
  var isShown: Bool {
    let current = preview.current
    return current.version == version && !current.isRemoved && current.configuration.isEnabled && mayGoOn()
  }

  /// Whether a picture that was captured then may be shown.
  func shows(_ time: CaptureInstant) -> Bool { preview.shows(time) }

  /// Whether a camera's own H.264 shows just what the view does.
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

/// Goes through the kept pictures of a clip.
struct ClipCursor: Sendable {
  let clip: Clip
  private let forward = ForwardDecoding()
  /// The number of the last picture that was looked at.
  private var last = -1

  init(_ clip: Clip) { self.clip = clip }

  /// How long a picture is waited for at most before the clip is asked whether it is to go on.
  private static let looksEvery = Duration.seconds(1)

  /// Whether all that is kept was looked at: the next picture is still to come.
  var isCaughtUp: Bool { clip.feed.replay?.buffer.hasPicture(after: last, in: clip.times) != true }

  /// The next picture; nil at the end.
  mutating func next() async throws -> ReplayBuffer.Entry? {
    guard let buffer = clip.feed.replay?.buffer else { return nil }
    while clip.isShown {
      let until = min(clip.times.upperBound, CaptureClock.now + Self.looksEvery)
      if let entry = try await buffer.next(after: &last, in: clip.times, until: until) {
        if clip.shows(entry.timestamp) { return clip.isShown ? entry : nil }
      } else if CaptureClock.now >= clip.times.upperBound {
        return nil
      }
    }
    return nil
  }

  /// Draws a picture; nil if it is gone, damaged, or may no longer be shown.
  func draw(_ entry: ReplayBuffer.Entry, as format: Picture.Format) async throws
    -> RenderedPicture?
  {
    let event = try await ForwardDecoding.$current.withValue(forward) {
      try await clip.feed.kept(entry.sequence, isCropped: clip.view.isCropped)
    }
    guard let event else { return nil }
    let drawn = try await SourceMoment(event, of: clip.feed, .placeholder).draw([clip.view], as: format).first
    return clip.isShown && clip.shows(entry.timestamp) ? drawn : nil
  }
}

/// The pictures of a clip, one after another.
public struct ClipPictures: AsyncSequence, Sendable {
  let clip: Clip
  let format: Picture.Format
  let interval: Duration

  /// Creates an iterator, which begins at the beginning.
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

    /// The next picture; nil at the end.
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

  /// Creates an iterator, which begins at the beginning, with an encoder of its own.
  public func makeAsyncIterator() -> Iterator { Iterator(clip) }

  /// Copies or encodes pictures.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private var cursor: ClipCursor
    private let encoder: VideoEncoder
    private var keys: KeySchedule
    /// Copied, but not returned yet.
    private var samples: [VideoSample] = []
    /// The number of the last picture, if that was copied.
    private var copied: Int?
    private var last: VideoSample?
    /// The time of the first picture of the clip's time, once that is known: samples before it are only there for it to rest on.
    public private(set) var begin: CaptureInstant?

    init(_ clip: Clip) {
      (cursor, encoder, keys) = (ClipCursor(clip), clip.encoder, clip.keys)
    }

    /// Whether all that is kept was returned: the next sample is still to come.
    package var isCaughtUp: Bool { samples.isEmpty && cursor.isCaughtUp }

    /// The next sample; nil at the end.
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
        // It was off meanwhile. What follows can't rest on what is left out.
        (samples, copied) = ([], -1)
      }
      let sample = samples.removeFirst()
      let next = last.map { sample.later(than: $0.timestamp) } ?? sample
      last = next
      return next
    }

    /// The camera's own samples up to a picture, from the last one that was copied or a key picture on; none if it has to be
    /// encoded.
    private mutating func copies(of entry: ReplayBuffer.Entry) -> [VideoSample] {
      guard cursor.clip.copies, case .h264 = entry.content, let buffer = cursor.clip.feed.replay?.buffer
      else { return [] }
      let path = buffer.path(through: entry.sequence)
      let place = copied.flatMap { copied in path.firstIndex { $0.sequence == copied } }
      // After pictures that were encoded, it begins with the next key picture.
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
  /// What a preview shows of a time of which pictures are kept (`SessionSource.replay`), and of the time until its end.
  ///
  /// - Parameters:
  ///   - times: the time. What is no longer kept of it is left out.
  ///   - preview: the preview's name; nil for the first one of a single source.
  ///   - configuration: how it is encoded, where it is.
  /// - Returns: the clip; nothing is read until one of its sequences is.
  /// - Throws: `SessionError` if there is no such preview, or it is a scene.
  public func clip(
    _ times: ClosedRange<CaptureInstant>, of preview: String? = nil,
    _ configuration: VideoConfiguration = VideoConfiguration()
  ) throws(SessionError) -> Clip {
    let found = allPreviews.first { preview == nil ? $0.sourceName != nil : $0.name == preview }
    guard let found else { throw SessionError("there is no preview '\(preview ?? "")'") }
    return try Clip(of: found, times, configuration)
  }
}
