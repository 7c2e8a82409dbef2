// Stores the pictures of a stream's own H.264. Video clients get them unchanged; they are decoded only for a
// reader that needs samples.
internal import CAV
internal import Synchronization

/// The pictures of one connection that can be passed through.
struct StreamPassthrough {
  /// The handling of a packet.
  enum Verdict {
    case capture(Capture)
    case nothing
    /// The packet is decoded by the reader, as in any other stream. `isInterrupted` means that the pictures
    /// just before it were passed through and not decoded.
    case decode(isInterrupted: Bool)
  }

  private let video: OriginalVideo
  private let decoder: OriginalDecoder
  private let openDecoder: @Sendable () -> any BufferedDecoder
  private var h264: OriginalH264
  private var isPassing = false

  /// Why the stream is not passed through; nil while it may be.
  var refusal: String? { h264.refusal }

  init(_ header: [UInt8], _ options: SourceOptions) {
    h264 = OriginalH264(header: header, maximumPixels: options.maximumPixels)
    video = OriginalVideo(budget: options.memory?.budget, of: options.endedConnections)
    let (maximumPixels, memory) = (options.maximumPixels, options.memory ?? FramePool())
    decoder = OriginalDecoder(video, maximumPixels: maximumPixels, memory: memory)
    openDecoder = { BufferedVideoDecoder(maximumPixels: maximumPixels, memory: memory) }
  }

  mutating func take(_ packet: VideoPacket, timestamp: CaptureInstant) -> Verdict {
    if let header = packet.header { h264.read(header) }
    if video.isBroken { h264.lose() }
    switch h264.take(
      packet.bytes, mediaTime: packet.mediaTime, timestamp: timestamp, isDamaged: packet.isDamaged)
    {
    case .nothing: return .nothing
    case .decode:
      defer { isPassing = false }
      return .decode(isInterrupted: isPassing)
    case .sample(let sample):
      isPassing = true
      let place = video.add(sample, capturedAt: timestamp)
      var capture = Capture(timestamp: timestamp, byteCount: sample.bytes.count) { [decoder] _ in
        try decoder.frame(place.index)
      }
      capture.video = place
      capture.openDecoder = openDecoder
      return .capture(capture)
    }
  }
}

/// Decodes stored pictures in order, each at most once.
package final class OriginalDecoder: Sendable {
  private let video: OriginalVideo
  private let maximumPixels: Int
  private let memory: FramePool
  private let state = Mutex(State())

  private struct State {
    var decoder: VideoDecoder?
    /// The last decoded picture, and its number.
    var last: (index: Int, picture: VideoPicture)?
  }

  init(_ video: OriginalVideo, maximumPixels: Int, memory: FramePool) {
    self.video = video
    self.maximumPixels = maximumPixels
    self.memory = memory
  }

  /// Returns the frame of a picture, or of a later one if that has been decoded already.
  ///
  /// - Throws: `DamagedCapture` if the picture is damaged or its keyframe is no longer stored;
  ///   `VideoFailure`.
  func frame(_ index: Int) throws -> Frame {
    try state.withLock { state in try decode(through: index, &state) }
      .frame(maximumPixels: maximumPixels, memory: memory)
  }

  private func decode(through index: Int, _ state: inout State) throws -> VideoPicture {
    if let last = state.last, last.index >= index { return last.picture }
    let path = video.pathToDecode(after: state.last?.index, through: index)
    guard let first = path.first, first.isKey || state.last != nil else {
      throw DamagedCapture("its keyframe is no longer buffered")
    }
    let decoder = try state.decoder ?? VideoDecoder(maximumPixels: maximumPixels, within: memory.budget)
    state.decoder = decoder
    // After an error, decoding continues with a keyframe.
    state.last = nil
    var newest: VideoPicture?
    for sample in path {
      do throws(VideoFailure) {
        guard let picture = try decoder.decode(sample.annexB) else { continue }
        newest = picture
        guard picture.isDamaged else { continue }
      } catch {
        guard error.kind == .damaged else { throw error }
      }
      video.breakUp()
      throw DamagedCapture("a picture is damaged, or depends on one that is")
    }
    guard let newest else { throw DamagedCapture("a picture is incomplete") }
    state.last = (index, newest)
    return newest
  }
}

/// Decodes buffered pictures in order, independently of the stream.
package final class BufferedVideoDecoder: BufferedDecoder {
  private let decoder = Mutex<VideoDecoder?>(nil)
  private let maximumPixels: Int
  private let memory: FramePool

  package init(maximumPixels: Int, memory: FramePool) {
    self.maximumPixels = maximumPixels
    self.memory = memory
  }

  /// Decodes the samples and returns the frame of the last one.
  ///
  /// - Throws: `DamagedCapture`, `VideoFailure`, `CancellationError`.
  package func frame(of samples: [VideoSample]) throws -> Frame {
    try decoder.withLock { known in
      let decoder = try known ?? VideoDecoder(maximumPixels: maximumPixels, within: memory.budget)
      known = decoder
      var newest: VideoPicture?
      for sample in samples {
        try Task.checkCancellation()
        guard let picture = try decoder.decode(sample.annexB) else { continue }
        guard !picture.isDamaged else {
          throw DamagedCapture("a picture is damaged, or depends on one that is")
        }
        newest = picture
      }
      guard let newest else { throw DamagedCapture("a picture is incomplete") }
      return try newest.frame(maximumPixels: maximumPixels, memory: memory)
    }
  }
}

/// An H.264 decoder for data without a container, for one caller at a time.
@safe final class VideoDecoder {
  private let handle: OpaquePointer
  private let maximumPixels: Int
  private let memory: DecoderMemory

  init(maximumPixels: Int, within budget: MemoryBudget?) throws(VideoFailure) {
    var error = glp_av_error()
    let memory = DecoderMemory(budget)
    guard let handle = unsafe glp_av_decoder_open(Int64(maximumPixels), memory.inC, &error) else {
      throw VideoFailure(error, maximumPixels: maximumPixels)
    }
    unsafe self.handle = unsafe handle
    self.memory = memory
    self.maximumPixels = maximumPixels
  }

  deinit { unsafe glp_av_decoder_close(handle) }

  /// Decodes one picture in Annex B format; nil if it is incomplete.
  func decode(_ bytes: [UInt8]) throws(VideoFailure) -> VideoPicture? {
    var error = glp_av_error()
    if let frame = unsafe glp_av_decoder_decode(handle, bytes, bytes.count, &error) {
      return unsafe VideoPicture(frame)
    }
    guard error.status == GLP_AV_OK else { throw VideoFailure(error, maximumPixels: maximumPixels) }
    return nil
  }
}
