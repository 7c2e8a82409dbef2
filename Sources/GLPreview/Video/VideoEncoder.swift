// Encodes pictures as samples: chooses an encoder, and goes on with the next one where one fails.

/// Encodes the pictures of one stream. Used by one caller at a time.
package actor VideoEncoder {
  private let configuration: VideoConfiguration
  private let open: EncoderOpener
  private let stallsAfter: Duration
  private let counters: VideoCounters
  private let budget: MemoryBudget?

  /// The encoders that were not abandoned, for pictures of `size`.
  private var candidates: [VideoConfiguration.Encoder] = []
  private var size: Size?
  private var running: EncoderThread?
  /// Whether an encoder that fails in mid-stream is opened once more.
  private var mayReopen = true
  private var failures: [VideoError] = []
  private var format: H264Format?
  private var rate = PictureRate()
  private var bitrate = 0
  private var bitrateFactor = 1.0
  private var last: CaptureInstant?

  /// Creates an encoder; the libraries are loaded and a device is opened with the first picture. While it is
  /// open, its memory is reserved in `budget`.
  package init(
    _ configuration: VideoConfiguration, counting counters: VideoCounters = VideoCounters(),
    within budget: MemoryBudget? = nil
  ) {
    self.init(configuration, counting: counters, within: budget, open: openEncoder)
  }

  /// `stallsAfter` is the time after which a picture that is not encoded counts as failed.
  init(
    _ configuration: VideoConfiguration, counting counters: VideoCounters = VideoCounters(),
    within budget: MemoryBudget? = nil, open: @escaping EncoderOpener, stallsAfter: Duration = .seconds(5)
  ) {
    self.counters = counters
    self.budget = budget
    self.configuration = configuration
    self.open = open
    self.stallsAfter = stallsAfter
  }

  /// Encodes a picture of `Picture.Format.video`. A change of the size or of the encoder begins a new stream,
  /// with a keyframe and its own parameter sets.
  ///
  /// An encoder that fails in mid-stream is opened again once. If it fails again, or at its first picture,
  /// the next of the configuration's candidates takes over.
  ///
  /// - Parameters:
  ///   - picture: a picture of any size; each new size is a new stream.
  ///   - time: the picture's time; moved to one millisecond after the last one's if it is not later.
  ///   - isKey: whether decoding must be able to begin with it.
  ///   - bitrateFactor: the fraction of the configuration's bit rate that may be used, 0...1.
  /// - Returns: the picture's sample.
  /// - Throws: `VideoError` if no candidate is left; `MemoryBudget.Exceeded` if there is no room for one;
  ///   `CancellationError`.
  package func encode(
    _ picture: Picture, at time: CaptureInstant, isKey: Bool, bitrateFactor: Double = 1
  ) async throws -> VideoSample {
    if picture.size != size {
      (size, candidates, running, format) = (picture.size, configuration.candidates, nil, nil)
      (mayReopen, failures) = (true, [])
    }
    let time = last.map { max(time, $0 + .milliseconds(1)) } ?? time
    last = time
    rate.saw(time)
    while let candidate = candidates.first {
      let wasRunning = running != nil
      do {
        let stream = try await encoded(picture, by: candidate, isKey: isKey, bitrateFactor)
        return try sample(stream, of: picture.size, by: candidate, at: time)
      } catch let error as VideoError {
        try Task.checkCancellation()
        (running, format) = (nil, nil)
        failures.append(error)
        if wasRunning, mayReopen {
          mayReopen = false
          counters.count(.reopened(candidate, error))
        } else {
          candidates.removeFirst()
          // An encoder that `.automatic` can't open at all is not worth a report.
          if wasRunning || configuration.encoder != .automatic { counters.count(.gaveUp(candidate, error)) }
        }
      }
    }
    throw exhausted
  }

  /// Closes the encoder until the next picture, which begins a new stream.
  func rest() { (size, running, format) = (nil, nil, nil) }

  /// Why there is no candidate left.
  private var exhausted: VideoError {
    guard let last = failures.last else { return VideoError(.failed, "no encoder is left") }
    var reasons: [String] = []
    for failure in failures where !reasons.contains(failure.description) {
      reasons.append(failure.description)
    }
    // The last candidates are software encoders: users may be able to install one, so its kind of error
    // matters.
    return VideoError(last.kind, reasons.joined(separator: "; "))
  }

  /// Encodes a picture. Encoders that need several pictures before they output one get the same one again.
  private func encoded(
    _ picture: Picture, by candidate: VideoConfiguration.Encoder, isKey: Bool, _ bitrateFactor: Double
  ) async throws -> H264Stream {
    let isFirst = running == nil
    let bitrate = configuration.bitrate(for: picture.size) * EncoderSettings.nominalRate
    let wanted = Int(Double(bitrate) * bitrateFactor / rate.picturesPerSecond)
    let running = try running ?? makeThread(picture.size, candidate, bitrate: wanted)
    if isFirst { (self.bitrate, self.bitrateFactor) = (wanted, bitrateFactor) }
    // Each change disturbs the encoder's own rate control.
    let isOff = bitrateFactor != self.bitrateFactor || abs(wanted - self.bitrate) > self.bitrate / 4
    if isOff { (self.bitrate, self.bitrateFactor) = (wanted, bitrateFactor) }
    for attempt in 0..<5 {
      let stream = try await withDeadline(stallsAfter) {
        try await running.encode(
          picture, isKey: (isKey || isFirst) && attempt == 0, bitrate: isOff && attempt == 0 ? wanted : nil)
      }
      guard let stream else {
        throw VideoError(.failed, "\(candidate.rawValue) takes longer than \(stallsAfter) for a picture")
      }
      self.running = running
      if !stream.slices.isEmpty { return stream }
    }
    throw VideoError(.failed, "\(candidate.rawValue) accepts pictures but returns none")
  }

  private func makeThread(
    _ size: Size, _ candidate: VideoConfiguration.Encoder, bitrate: Int
  ) throws(MemoryBudget.Exceeded) -> EncoderThread {
    let settings = EncoderSettings(
      encoder: candidate, size: size.even, rateFactor: configuration.rateFactor, bitrate: bitrate,
      keyframeInterval: Int(configuration.keyframeInterval / .seconds(1) * 60))
    return EncoderThread(settings, open: open, holding: try budget?.reserve(settings.byteCount))
  }

  private func sample(
    _ stream: H264Stream, of size: Size, by encoder: VideoConfiguration.Encoder, at time: CaptureInstant
  ) throws(VideoError) -> VideoSample {
    if let sps = stream.sps ?? format?.sps, let pps = stream.pps ?? format?.pps {
      format = H264Format(sps: sps, pps: pps, size: size, encoder: encoder)
    }
    guard let format else {
      throw VideoError(.failed, "\(encoder.rawValue) gives pictures without parameter sets")
    }
    return VideoSample(bytes: stream.slices, isKey: stream.isKey, timestamp: time, format: format)
  }
}

extension VideoConfiguration.Encoder {
  /// Why it can't encode on this machine; nil if it can. A small picture is encoded to find out, which takes
  /// some milliseconds, and up to five seconds where a driver hangs.
  public var failure: VideoError? {
    get async {
      // The encoders of boards accept no sizes much smaller than this.
      let size = Size(width: 320, height: 240)
      let count = Picture.Format.video.planeSizes(of: size).reduce(0) { $0 + $1.pixelCount }
      let grey = Picture(tight: size, format: .video, bytes: [UInt8](repeating: 128, count: count))
      do {
        _ = try await VideoEncoder(VideoConfiguration(encoder: self)).encode(grey, at: .start, isKey: true)
        return nil
      } catch {
        return error as? VideoError ?? VideoError(.failed, "\(error)")
      }
    }
  }
}

/// An encoder on its own thread, because it may block for as long as its driver likes. An encoder that is
/// abandoned while it blocks ends when it returns.
private actor EncoderThread {
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private let settings: EncoderSettings
  private let open: EncoderOpener
  private let lease: MemoryLease?
  private var encoder: (any H264Encoder)?

  init(_ settings: EncoderSettings, open: @escaping EncoderOpener, holding lease: MemoryLease?) {
    self.lease = lease
    queue = ReadingQueue(named: "encoder.\(settings.encoder.rawValue)")
    self.settings = settings
    self.open = open
  }

  func encode(_ picture: Picture, isKey: Bool, bitrate: Int?) throws -> H264Stream {
    let encoder = try encoder ?? open(settings)
    self.encoder = encoder
    if let bitrate { encoder.setBitrate(bitrate) }
    return H264Stream(try encoder.encode(picture, isKey: isKey))
  }
}

/// The rate at which pictures come. Encoders distribute their bit rate by the number of pictures, not by
/// their times.
struct PictureRate: Sendable {
  private var last: CaptureInstant?
  private var interval = 1 / Double(EncoderSettings.nominalRate)

  /// A moving average, 1...120.
  var picturesPerSecond: Double { 1 / interval }

  mutating func saw(_ time: CaptureInstant) {
    if let last { interval += (min(max((time - last) / .seconds(1), 1.0 / 120), 1) - interval) / 16 }
    last = time
  }
}
