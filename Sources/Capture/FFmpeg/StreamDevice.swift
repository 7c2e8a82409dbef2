// Video streams from cameras and servers on the network, mainly RTSP. Later pictures depend on earlier ones,
// so every picture is decoded. Only requested ones are copied out of the decoder's memory. Where H.264 can be
// passed through, nothing is decoded until a frame is requested.

struct StreamDevice: CaptureDevice {
  private let url: StreamURL
  private let options: SourceOptions
  private let memory: FramePool
  /// Whether the server refuses to send over TCP; remembered between connections.
  private let refusesTCP = Watched(false)
  /// Opens the tunnel to a server whose certificate is verified; nil if FFmpeg connects directly.
  private let openTunnel: StreamTunnel.Open?

  /// Creates a device that is not connected yet. Without `openTunnel`, this build can't verify certificates.
  /// Throws only `.badRequest`.
  init(_ text: String, _ options: SourceOptions, openTunnel: StreamTunnel.Open? = nil) throws(SourceError) {
    url = try StreamURL(text)
    memory = options.memory ?? FramePool()
    self.options = options
    let isVerified = url.scheme == "rtsps" && options.certificate ?? .any != .any
    self.openTunnel = isVerified ? openTunnel : nil
    guard !isVerified || openTunnel != nil else {
      let reason = "this build can't verify certificates (the package's trait HTTP is off)"
      throw SourceError(.badRequest, path: url.name, reason: reason)
    }
  }

  var name: String { url.name }

  var secrets: [String] { Redaction.secrets(in: url.address) }

  /// Connects. A host name lookup can't be interrupted: after a cancellation, its thread is left to end by
  /// itself.
  func connect() async throws -> any CaptureConnection {
    let tunnel = try await openTunnel?(url.address, url.name, options)
    let connection = StreamConnection(url, options, memory, refusesTCP, tunnel)
    do {
      _ = try await withDeadline { try await connection.open() }
      try Task.checkCancellation()
      return connection
    } catch {
      guard Task.isCancelled else {
        await connection.close()
        throw error
      }
      connection.interrupt()
      // The close runs after the opening, which may still be in progress.
      await waitAtMost(Self.closesWithin) { await connection.close() }
      throw CancellationError()
    }
  }

  /// How long to wait for an interrupted attempt, which checks for interruption every 100 ms.
  private static let closesWithin = Duration.milliseconds(400)
}

/// One connection. After cancellation of a task that waited for a picture, the connection can only be closed.
actor StreamConnection: CaptureConnection {
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private let stop = VideoStop()
  private let url: StreamURL
  private let options: SourceOptions
  private let memory: FramePool
  private let refusesTCP: Watched<Bool>
  private let tunnel: StreamTunnel?
  private var reader: VideoReader?
  private var isClosed = false
  private var clock = StreamClock()
  private var gate = PictureGate()
  /// Decides which pictures are passed through, and stores them; nil if the stream can't be passed through.
  private var passing: StreamPassthrough?
  /// Whether the reader is to decode the last packet.
  private var isDecoding = false
  private(set) var mode: SourceStatus.Mode

  init(
    _ url: StreamURL, _ options: SourceOptions, _ memory: FramePool, _ refusesTCP: Watched<Bool>,
    _ tunnel: StreamTunnel?
  ) {
    queue = ReadingQueue(named: url.name)
    self.url = url
    self.options = options
    self.memory = memory
    self.refusesTCP = refusesTCP
    self.tunnel = tunnel
    mode = SourceStatus.Mode(format: "", transport: url.scheme)
  }

  /// Interrupts calls that wait for the network.
  nonisolated func interrupt() { stop.set() }

  func open() throws {
    guard !isClosed else { throw CancellationError() }
    let isRTSP = url.scheme.hasPrefix("rtsp")
    let asked = tunnel == nil ? url.transport ?? options.streamTransport : .tcp
    do throws(VideoFailure) {
      let isUDP = asked == .udp || (asked == .automatic && refusesTCP.value)
      try open(over: isUDP ? .udp : .tcp, isRTSP)
    } catch  where error.kind == .noTransport && asked == .automatic {
      refusesTCP.update { $0 = true }
      do throws(VideoFailure) { try open(over: .udp, isRTSP) } catch { throw failure(error) }
    } catch {
      throw failure(error)
    }
  }

  private func open(over transport: SourceOptions.StreamTransport, _ isRTSP: Bool) throws(VideoFailure) {
    let reader = try VideoReader(
      stream: tunnel?.address ?? url.address, over: transport,
      redirects: tunnel == nil ? options.redirects : .none,
      maximumPixels: options.maximumPixels, within: memory.budget, stop: stop)
    self.reader = reader
    mode.format = reader.codec
    mode.framesPerSecond = reader.frameRate?.framesPerSecond
    if reader.codec == "h264", options.replay != nil || options.passesVideo && options.showsVideo {
      passing = StreamPassthrough(reader.header, options)
    }
    if isRTSP { mode.transport = "\(url.scheme) over \(transport.rawValue)" }
  }

  func next() async throws -> Capture? {
    try await withTaskCancellationHandler {
      try nextCapture()
    } onCancel: {
      stop.set()
    }
  }

  private func nextCapture() throws -> Capture {
    guard let reader else { throw CancellationError() }
    let picture: VideoPicture
    do throws(VideoFailure) {
      switch try nextPicture(reader) {
      case .passed(let capture): return capture
      case .decoded(let decoded): picture = decoded
      }
    } catch {
      guard error.kind == .damaged || error.kind == .noRoom else { throw failure(error) }
      gate.lost(at: CaptureClock.now)
      var damage = DamagedCapture(error.description)
      damage.isOutOfMemory = error.isOutOfMemory
      throw damage
    }
    let now = CaptureClock.now
    if passing == nil { observePacket(reader) }
    let time = clock.time(of: picture.time, now: now)
    guard gate.admits(isKey: picture.isKey, isDamaged: picture.isDamaged, at: now) else {
      throw DamagedCapture("a picture is damaged, or depends on one that is")
    }
    try describe(picture, reader)
    let (maximumPixels, memory) = (options.maximumPixels, memory)
    return Capture(timestamp: time, byteCount: picture.byteCount) { _ in
      try picture.frame(maximumPixels: maximumPixels, memory: memory)
    }
  }

  private enum Next {
    case passed(Capture)
    case decoded(VideoPicture)
  }

  private func nextPicture(_ reader: VideoReader) throws(VideoFailure) -> Next {
    guard passing != nil else { return .decoded(try reader.next()) }
    while true {
      if isDecoding, let picture = try reader.decode() { return .decoded(picture) }
      isDecoding = false
      let packet = try reader.read()
      observePacket(reader)
      let now = CaptureClock.now
      // Packets of B pictures do not arrive in the order of their times. They would advance the clock too far
      // for the pictures.
      let time = mode.videoRefusal == nil ? clock.time(of: packet.mediaTime, now: now) : now
      let verdict = passing?.take(packet, timestamp: time)
      mode.videoRefusal = passing?.refusal
      switch verdict {
      case .capture(let capture):
        _ = gate.admits(isKey: true, isDamaged: false, at: now)
        mode.size = capture.video?.size
        return .passed(capture)
      case .nothing: continue
      // The reader's decoder lacks the pictures that were passed through without being decoded.
      case .decode(isInterrupted: true):
        throw VideoFailure(.damaged, "a picture is missing or damaged, or depends on one that is")
      case .decode, nil: isDecoding = true
      }
    }
  }

  private func observePacket(_ reader: VideoReader) {
    if let packet = reader.lastPacket { clock.observe(packet.mediaTime, arrived: packet.arrived) }
  }

  /// Updates the mode. A picture that can't be drawn is reported here, not when its frame is requested.
  private func describe(_ picture: VideoPicture, _ reader: VideoReader) throws {
    do {
      let layout = try picture.layout()
      _ = try picture.signal.color(of: layout, picture.size)
      mode.size = picture.size
      mode.format = layout.bits <= 8 ? reader.codec : "\(reader.codec), \(layout.bits) bits taken as 8"
    } catch {
      throw failure(error)
    }
  }

  func close() async {
    isClosed = true
    reader = nil
    await tunnel?.end()
  }

  private func failure(_ failure: VideoFailure) -> any Error {
    switch failure.kind {
    case .interrupted: CancellationError()
    case .redirected where tunnel != nil:
      SourceError(
        .unavailable, path: url.name,
        reason: "redirects to \(failure.description), which certificate does not allow: use that address")
    case .redirected:
      SourceError(
        .unavailable, path: url.name,
        reason: options.redirects.refusal(from: "", to: failure.description) ?? failure.description)
    // No retry can succeed: the libraries will not be installed in the meantime.
    case .noLibraries: SourceError(.badRequest, path: url.name, reason: failure.description)
    default: SourceError(.unavailable, path: url.name, reason: failure.description)
    }
  }
}

/// Decides which pictures are shown after a loss: only pictures that do not depend on a lost one.
struct PictureGate: Sendable {
  /// A stream that refreshes its pictures gradually, without keyframes, is shown again after this long.
  static let longest = Duration.seconds(5)

  private var lostAt: CaptureInstant?

  mutating func lost(at now: CaptureInstant) { lostAt = lostAt ?? now }

  mutating func admits(isKey: Bool, isDamaged: Bool, at now: CaptureInstant) -> Bool {
    if isDamaged {
      lost(at: now)
    } else if isKey {
      lostAt = nil
    } else if let lostAt, now - lostAt >= Self.longest {
      self.lostAt = nil
    }
    return lostAt == nil
  }
}

/// An address as entered, without the options that are meant for GLPreview.
struct StreamURL: Sendable, Hashable, CustomStringConvertible {
  /// The whole address for FFmpeg, with user and password.
  let address: String
  /// The name for messages, without secrets.
  let name: String
  /// The scheme in lower case: `rtsp`.
  let scheme: String
  /// The transport in a `#transport=tcp` or `#transport=udp` at the end.
  let transport: SourceOptions.StreamTransport?

  var description: String { name }

  init(_ text: String) throws(SourceError) {
    var address = text[...]
    var transport: SourceOptions.StreamTransport?
    if let mark = text.lastIndex(of: "#") {
      let word = text[text.index(after: mark)...]
      if word.hasPrefix("transport=") {
        transport = SourceOptions.StreamTransport(rawValue: String(word.dropFirst("transport=".count)))
        guard transport != nil else {
          throw SourceError(
            .badRequest, path: Redaction.source(text), reason: "#\(word) is not one of automatic, tcp, udp")
        }
        address = text[..<mark]
      }
    }
    self.address = String(address)
    self.transport = transport
    name = Redaction.source(self.address)
    let parts = address.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    scheme = parts[0].lowercased()
    guard parts.count == 2, parts[1].hasPrefix("//"), parts[1].count > 2, !address.utf8.contains(0) else {
      throw SourceError(.badRequest, path: name, reason: "is not an address like \(scheme)://HOST/PATH")
    }
    if let problem = UnencodedPassword.problem(in: self.address) {
      throw SourceError(.badRequest, path: name, reason: problem)
    }
  }
}
