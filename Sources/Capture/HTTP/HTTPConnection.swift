// A connection to an HTTP camera, and its pictures.
internal import NIOCore
internal import NIOHTTP1

/// The pictures of a stream, or of a still that is polled.
///
/// A polled server without a newer picture responds with 304, or sends the same bytes again. The server is
/// then alive, but there is no new picture. The old one, which the server still shows, is returned again once
/// a second, or more often if a source is stalled after less than two seconds. Otherwise it is not returned.
/// A camera that is frozen behind a working server can't be distinguished from one with an unchanged picture.
actor HTTPConnection: CaptureConnection {
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private(set) var mode: SourceStatus.Mode
  private let server: HTTPServer
  private let address: HTTPAddress
  private let name: String
  private let options: SourceOptions
  private let memory: FramePool
  /// The pictures of another node's video; nil for JPEGs.
  private var video: ReceivedVideo?
  private var way: Way
  /// Parses the bytes of a stream. Changed in place, because it may contain a large part of a picture.
  private var stream: any PictureStream
  /// Whether `stream` has been finished.
  private var isFinished = false
  private var intake: StreamIntake
  private var turnBegan = CaptureClock.now

  private enum Way {
    case stream(HTTPServer.Reply, waiting: [PictureEvent], pictureCount: Int)
    case polling(PicturePoll)
  }

  /// Takes ownership of `server`, which has responded.
  ///
  /// - Throws: `SourceError` if the response has no pictures; the caller then still owns `server`.
  init(
    _ reply: HTTPServer.Reply, _ server: HTTPServer, _ address: HTTPAddress, name: String,
    _ options: SourceOptions, _ decoding: OriginalVideo.OpenDecoder?
  ) async throws {
    guard reply.head.status == .ok else {
      throw SourceError.http(reply.head, address, name: name)
    }
    var content = HTTPContent(contentType: reply.head.headers.first(name: "content-type"))
    if content == .unknown || (content == .video && !options.takesVideo) {
      content = try await reply.answer.sniff { HTTPContent.sniff($0, isEnd: $1) }
    }
    let limit = options.pictureLimit
    switch content {
    case .multipart(let boundary): stream = MultipartParser(boundary: boundary, pictureLimit: limit)
    case .video: stream = FragmentStream(options)
    case .pictures, .unknown, .picture: stream = JPEGRun(pictureLimit: limit)
    case .other(let what): throw SourceError.noPicture(what, reply.head, name: name)
    }
    let isStill = content == .picture
    way = isStill ? .polling(PicturePoll(first: reply)) : .stream(reply, waiting: [], pictureCount: 0)
    video = content == .video ? ReceivedVideo(options, decoding) : nil
    let format = video != nil ? "h264" : isStill ? "JPEG" : "MJPEG"
    mode = SourceStatus.Mode(format: format, transport: address.scheme.rawValue)
    queue = ReadingQueue(named: name)
    intake = StreamIntake(options)
    memory = options.memory ?? FramePool()
    (self.server, self.address, self.name, self.options) = (server, address, name, options)
  }

  func close() async { await server.end() }

  func next() async throws -> Capture? {
    do {
      while true {
        if case .polling = way { return capture(try await poll()) }
        switch try await nextEvent() {
        case .picture(let picture): return capture(picture)
        case .sample(let sample):
          mode.size = sample.format.size
          if let capture = video?.capture(sample) { return capture }
        case .damaged(let reason): throw DamagedCapture(reason)
        case .unusable(let reason): throw SourceError(.unavailable, path: name, reason: reason)
        case nil: if case .stream = way { return nil }
        }
      }
    } catch let error as DamagedCapture {
      throw error
    } catch {
      try Task.checkCancellation()
      throw SourceError.http(error, name: name)
    }
  }

  private func capture(_ picture: ReceivedPicture) -> Capture {
    let bytes = PictureStart.trimmed(picture.bytes)
    let size = (try? JPEGDecoder.header(of: bytes).size) ?? (try? PNGDecoder.header(of: bytes).size)
    if let size { mode.size = size }
    let time = ServerTime.captureTime(
      picture.serverTime, received: picture.time,
      receivedSince1970: CaptureClock.timeSince1970(picture.time))
    return Capture(picture: bytes, timestamp: time, options, memory: memory)
  }

  // MARK: Streams

  /// Returns the next event; nil if the stream has ended for good, or is not a stream.
  private func nextEvent() async throws -> PictureEvent? {
    guard case .stream(let reply, var waiting, var count) = way else { return nil }
    while waiting.isEmpty {
      let chunks = try await nextChunks(reply, count)
      guard !chunks.isEmpty else { return try endOfStream(reply, count) }
      for chunk in chunks {
        let events = stream.take(chunk.bytes[...], at: chunk.time)
        waiting += events
        try await account(
          for: chunk, waiting: stream.waitingByteCount, foundPicture: events.contains(where: \.isPicture))
      }
    }
    let event = waiting.removeFirst()
    if event.isPicture { count += 1 }
    way = .stream(reply, waiting: waiting, pictureCount: count)
    return event
  }

  /// Returns the next chunks; none at the end of the stream. If the connection ends early after a single
  /// complete picture, that counts as the end too. A picture of a declared length comes as a whole, so that its
  /// chunks do not wake this task one by one.
  private func nextChunks(_ reply: HTTPServer.Reply, _ count: Int) async throws -> [HTTPChunk] {
    do {
      return try await reply.answer.chunks(ofAtLeast: stream.missingByteCount)
    } catch  where stream is JPEGRun && count == 1 && stream.waitingByteCount == 0 {
      try Task.checkCancellation()
      return []
    }
  }

  /// How long chunks are processed before other calls get a turn.
  private static let turn = Duration.milliseconds(5)

  /// Runs between two chunks: checks for cancellation, gives other calls a turn from time to time, and pauses if
  /// the server sends too much.
  private func account(for chunk: HTTPChunk, waiting: Int, foundPicture: Bool) async throws {
    let pause = try intake.took(chunk.bytes.count, waiting: waiting, foundPicture: foundPicture)
    try Task.checkCancellation()
    if pause > .zero {
      try await Task.sleep(for: pause)
    } else if CaptureClock.now - turnBegan < Self.turn {
      return
    } else {
      await Task.yield()
    }
    turnBegan = CaptureClock.now
  }

  /// Handles a regular end. A response with a declared length is over; a single picture is polled from now
  /// on.
  private func endOfStream(_ reply: HTTPServer.Reply, _ count: Int) throws -> PictureEvent? {
    let left = isFinished ? [] : stream.finish().map(judged)
    isFinished = true
    guard left.isEmpty else {
      way = .stream(
        reply, waiting: Array(left.dropFirst()), pictureCount: count + (left[0].isPicture ? 1 : 0))
      return left.first
    }
    if stream is JPEGRun, count == 1 {
      way = .polling(PicturePoll(after: reply.time))
      mode.format = "JPEG"
      return nil
    }
    if reply.head.headers.contains(name: "content-length") { return nil }
    throw SourceError(.unavailable, path: name, reason: "ended the stream")
  }

  /// Checks the last picture of a stream, whose end marker is missing: it counts as cut short unless it
  /// decodes without errors.
  private func judged(_ event: PictureEvent) -> PictureEvent {
    guard case .picture(let picture) = event else { return event }
    do throws(CodecError) {
      _ = try JPEGDecoder.decode(
        PictureStart.trimmed(picture.bytes), maximumPixels: options.maximumPixels,
        until: options.decodingDeadline, memory: memory)
      return event
    } catch {
      return error.isOutOfMemory ? event : .damaged("the last picture is cut short")
    }
  }

  // MARK: Polling

  /// Waits for a new picture, or until the old one is due again.
  private func poll() async throws -> ReceivedPicture {
    while case .polling(var poll) = way {
      let reply: HTTPServer.Reply
      if let first = poll.first {
        reply = first
        poll.first = nil
      } else {
        try await CaptureClock().sleep(until: poll.lastRequest + interval)
        poll.lastRequest = CaptureClock.now
        reply = try await server.get(address, poll.conditions)
      }
      let picture = try await picture(reply, &poll)
      let isDue = poll.last == nil || reply.time - poll.lastGiven >= repeatInterval
      let isNew = picture != nil && picture?.bytes != poll.last
      if let picture { poll.last = picture.bytes }
      if isNew || isDue { poll.lastGiven = reply.time }
      way = .polling(poll)
      if let last = poll.last, isNew || isDue {
        return picture ?? ReceivedPicture(bytes: last, time: reply.time)
      }
    }
    throw SourceError(.unavailable, path: name, reason: "ended the stream")
  }

  /// Returns the picture of a response; nil if the server reports that it has not changed.
  private func picture(_ reply: HTTPServer.Reply, _ poll: inout PicturePoll) async throws
    -> ReceivedPicture?
  {
    if reply.head.status == .notModified, poll.last != nil {
      _ = try await reply.answer.body(limit: 0)
      return nil
    }
    guard reply.head.status == .ok else {
      throw SourceError.http(reply.head, address, name: name)
    }
    var received = ReceivedPicture(bytes: [], time: reply.time)
    do {
      try await receive(&received, reply)
    } catch {
      // The server announced more than it sent. A complete picture is accepted nevertheless.
      try Task.checkCancellation()
      var walk = PictureWalk()
      let isOurs = error is SourceError || error is MemoryBudget.Exceeded
      guard !isOurs, walk.end(in: PictureStart.trimmed(received.bytes)[...]) != nil else { throw error }
    }
    guard let start = PictureStart(in: received.bytes[...]) else {
      throw SourceError.noPicture(HTTPContent.description(of: received.bytes), reply.head, name: name)
    }
    mode.format = start.format == .jpeg ? "JPEG" : "PNG"
    poll.validate(reply.head.headers)
    received.serverTime = reply.head.headers.first(name: "x-timestamp").flatMap { ServerTime.parsed($0) }
    return received
  }

  /// Reads the body of a single picture, up to its end. If the server does not declare the length, up to the
  /// end of the picture.
  private func receive(_ picture: inout ReceivedPicture, _ reply: HTTPServer.Reply) async throws {
    let limit = options.pictureLimit
    let isOpen = !["content-length", "transfer-encoding"].contains { reply.head.headers.contains(name: $0) }
    var walk = PictureWalk()
    while let chunk = try await reply.answer.next() {
      if picture.bytes.isEmpty { picture.time = chunk.time }
      picture.bytes += chunk.bytes
      try await account(for: chunk, waiting: picture.bytes.count, foundPicture: true)
      guard picture.bytes.count <= limit else {
        throw SourceError(
          .unavailable, path: name, reason: "sends a picture larger than \(limit >> 20) MiB")
      }
      if isOpen, walk.end(in: picture.bytes[...]) != nil { return }
    }
  }

  private var interval: Duration {
    let rate = options.demand.framesPerSecond ?? PicturePoll.usualRate
    return .seconds(1 / min(max(rate, 0.001), PicturePoll.highestRate))
  }

  private var repeatInterval: Duration { min(.seconds(1), options.live.stallsAfter / 2) }
}

private struct PicturePoll {
  /// Requests per second if no rate is requested.
  static let usualRate = 10.0
  static let highestRate = 60.0

  /// The first response, if it has already arrived.
  var first: HTTPServer.Reply?
  var lastRequest: CaptureInstant
  /// The newest picture, and the time at which it was last returned.
  var last: [UInt8]?
  var lastGiven = CaptureInstant.start
  /// The header fields with which only a newer picture is requested.
  var conditions: [SourceOptions.HeaderField] = []

  init(first: HTTPServer.Reply) {
    self.first = first
    lastRequest = first.time
  }

  init(after time: CaptureInstant) { lastRequest = time }

  /// Stores the header fields by which the server distinguishes its pictures.
  mutating func validate(_ headers: HTTPHeaders) {
    conditions = []
    if let tag = headers.first(name: "etag") {
      conditions.append(SourceOptions.HeaderField(name: "If-None-Match", value: tag))
    } else if let date = headers.first(name: "last-modified"), date != headers.first(name: "date") {
      // A picture may change again within the second of its date (RFC 9110, 8.8.2.2).
      conditions.append(SourceOptions.HeaderField(name: "If-Modified-Since", value: date))
    }
  }
}
