// Another node's video in a server's response: the pictures that can be passed through.

/// Finds samples in MP4 fragments.
struct FragmentStream: PictureStream {
  private var reader: FragmentedMP4Reader
  private var h264: OriginalH264?
  private var shown: Size?
  private var clock = StreamClock()
  private let maximumPixels: Int

  init(_ options: SourceOptions) {
    reader = FragmentedMP4Reader(pictureLimit: options.pictureLimit)
    maximumPixels = options.maximumPixels
  }

  var waitingByteCount: Int { reader.waitingByteCount }

  mutating func take(_ bytes: ArraySlice<UInt8>, at time: CaptureInstant) -> [PictureEvent] {
    do throws(FragmentedMP4Reader.Failure) {
      return try reader.take(bytes).compactMap { event($0, at: time) }
    } catch {
      return [.unusable("its video can't be read: \(error)")]
    }
  }

  mutating func finish() -> [PictureEvent] {
    reader.waitingByteCount == 0 ? [] : [.damaged("the last picture is cut short")]
  }

  private mutating func event(_ event: FragmentedMP4Reader.Event, at now: CaptureInstant) -> PictureEvent? {
    switch event {
    case .header(let header, let shown):
      if h264 == nil {
        h264 = OriginalH264(header: header, maximumPixels: maximumPixels)
      } else {
        h264?.read(header)
      }
      self.shown = shown
      return h264?.refusal.map { .unusable("its video can't be passed through: \($0)") }
    case .picture(let bytes, let mediaTime):
      if let mediaTime { clock.observe(mediaTime, arrived: now) }
      let time = clock.time(of: mediaTime, now: now)
      switch h264?.take(bytes, mediaTime: mediaTime, timestamp: time) {
      case .sample(let sample): return .sample(shown.map { sample.shown(at: $0) } ?? sample)
      case .decode:
        return h264?.refusal.map { .unusable("its video can't be passed through: \($0)") }
          ?? .damaged("a picture depends on one that is missing")
      case .nothing, nil: return nil
      }
    }
  }
}

extension VideoSample {
  /// Returns this sample with the size that is shown, without the last column or row of the stream's
  /// pictures.
  fileprivate func shown(at size: Size) -> VideoSample {
    guard size.even == format.size else { return self }
    return VideoSample(
      bytes: bytes, isKey: isKey, timestamp: timestamp,
      format: H264Format(sps: format.sps, pps: format.pps, size: size, encoder: format.encoder))
  }
}

/// Stores the pictures of one connection. Videos pass them through; other readers get decoded frames.
struct ReceivedVideo: Sendable {
  private let video: OriginalVideo
  private let frame: (@Sendable (Int) throws -> Frame)?

  init(_ options: SourceOptions, _ decoding: OriginalVideo.OpenDecoder?) {
    video = OriginalVideo(budget: options.memory?.budget, of: options.endedConnections)
    frame = decoding?(video, options.maximumPixels, options.memory ?? FramePool())
  }

  func capture(_ sample: VideoSample) -> Capture {
    let place = video.add(sample)
    var capture = Capture(timestamp: sample.timestamp, byteCount: sample.bytes.count) { [frame] _ in
      guard let frame else { throw DamagedCapture("this build can't decode video") }
      return try frame(place.index)
    }
    capture.video = place
    return capture
  }
}
