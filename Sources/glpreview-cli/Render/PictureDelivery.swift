// The last stage of `glpreview render`: encodes, writes and reports pictures.
import FoundationEssentials
import GLPreview
import Glibc
import Synchronization

/// Delivers the pictures of one frame after another.
final class PictureDelivery: Sendable {
  private let settings: RenderSettings
  private let views: [String]
  private let rendererName: String
  /// Nil for a scene and for a file of a batch.
  private let source: (any FrameSource)?
  /// The file of a batch.
  private let item: Batch.Item?
  /// The files that must not be overwritten while they are read.
  private let paths: [String]
  /// The video file of each view, opened at its first picture.
  private let videos = Mutex<[String: VideoOutput]>([:])

  init(
    _ settings: RenderSettings, views: [String], rendererName: String, of source: (any FrameSource)?,
    at paths: [String] = [], item: Batch.Item? = nil
  ) {
    self.settings = settings
    self.views = views
    self.rendererName = rendererName
    self.source = source
    self.paths = paths
    self.item = item
  }

  /// Encodes views concurrently and delivers them in order.
  func deliver(_ frame: RenderedFrame) async throws {
    let rate = await framesPerSecond
    let views = Mutex(frame.pictures.indices.makeIterator())
    try await orderedMap(width: min(frame.pictures.count, Self.encoders)) {
      views.withLock { $0.next() }
    } _: { view in
      (view, try self.encode(frame, view: view))
    } to: { view, encoded in
      try await self.deliver(encoded, of: frame, view: view, rate)
    }
  }

  /// Encodes the views one after another, for `deliver`. Their samples are released if they are encoded.
  ///
  /// - Throws: `PictureError`; `CancellationError`.
  func encode(_ frame: RenderedFrame) throws -> EncodedFrame {
    let files = try frame.pictures.indices.map { view in
      try Task.checkCancellation()
      return try encode(frame, view: view)
    }
    var frame = frame
    if settings.encoder != nil { frame.pictures = [] }
    return EncodedFrame(frame: frame, files: files)
  }

  /// Delivers views in order.
  func deliver(_ encoded: EncodedFrame) async throws {
    let rate = await framesPerSecond
    for (view, file) in encoded.files.enumerated() {
      try await deliver(file, of: encoded.frame, view: view, rate)
    }
  }

  /// Delivers all pictures with `body`, and finishes the video files: also after an error, and when it is cancelled,
  /// with the pictures up to there.
  func finishing(_ body: () async throws -> Void) async throws {
    let videos = { self.videos.withLock { Array($0.values) } }
    do {
      try await body()
    } catch {
      for video in videos() { try? await video.finish() }
      throw error
    }
    for video in videos() { try await video.finish() }
  }

  /// One thread of Swift's pool, which has one per core, stays free for passing frames between stages.
  private static let encoders = max(1, ProcessInfo.processInfo.activeProcessorCount - 1)

  private func encode(_ frame: RenderedFrame, view index: Int) throws -> EncodedPicture? {
    do throws(PictureEncoder.Failure) {
      return try settings.encoder?.encode(frame.pictures[index], iccProfile: frame.iccProfile)
    } catch {
      let view = views[frame.firstView + index]
      let name = settings.output.name(view: view, frame: frame.number)
      throw PictureError(description: "\(name ?? "view '\(view)'"): \(error)")
    }
  }

  private func deliver(
    _ encoded: EncodedPicture?, of frame: RenderedFrame, view index: Int, _ framesPerSecond: Double
  ) async throws {
    let view = views[frame.firstView + index]
    let size = encoded?.size ?? frame.pictures[index].size
    var byteCount = encoded?.bytes.count
    let file = settings.output.name(view: view, frame: frame.number)
    switch settings.output {
    case .files: if let encoded, let file { try encoded.write(to: file) }
    case .standardOutput:
      if let encoded { try PictureFile.write(encoded.bytes, to: STDOUT_FILENO, named: "standard output") }
    case .video(_, let format):
      let video = try video(file ?? "-", format, framesPerSecond)
      byteCount = try await video.write(frame.pictures[index], at: frame.timestamp)
    case .nowhere: break
    }
    guard settings.reportsPictures else { return }
    // Timestamps of live sources and scenes are those of `CaptureClock`.
    let isTimed = item == nil && source?.isLive ?? true
    try report(
      PictureReport(
        source: item?.source, index: item?.index, view: view, frame: frame.number,
        timestamp: frame.timestamp.sinceStart / .seconds(1),
        time: isTimed ? CaptureClock.timeSince1970(frame.timestamp) / .seconds(1) : nil,
        ageMilliseconds: isTimed ? (CaptureClock.now - frame.timestamp).milliseconds : nil,
        transport: source?.status.mode?.transport, width: size.width, height: size.height, file: file,
        format: settings.output.formatName, bytes: byteCount,
        quality: encoded?.quality, decodedEighths: frame.decodedEighths, renderer: rendererName,
        frameGPUMilliseconds: frame.gpuTime?.milliseconds))
  }

  /// If pictures go to standard output, reports go to standard error.
  private func report(_ picture: PictureReport) throws {
    let line = try picture.jsonLine()
    if settings.output.takesStandardOutput {
      StandardError.print(line)
    } else {
      try StandardOutput.print(line)
    }
  }

  private func video(_ path: String, _ format: VideoFormat, _ framesPerSecond: Double) throws -> VideoOutput {
    if let video = videos.withLock({ $0[path] }) { return video }
    guard !paths.contains(where: { VideoFile.isSameFile(path, $0) }) else {
      throw UsageError("-o \(path) is the source itself")
    }
    let video = try VideoOutput(path, format, settings, framesPerSecond: framesPerSecond)
    videos.withLock { $0[path] = video }
    return video
  }

  /// The source's rate, if it is known, reduced by skipped frames.
  private var framesPerSecond: Double {
    get async {
      if let rate = settings.framesPerSecond { return rate }
      let rate = (await source?.framesPerSecond ?? 30) / Double(settings.schedule.every)
      guard let interval = settings.schedule.interval, interval > .zero else { return rate }
      return min(rate, .seconds(1) / interval)
    }
  }
}

/// Drawn views of a frame, without its own samples.
struct RenderedFrame: Sendable {
  var pictures: [Picture]
  /// The number of the first picture's view.
  var firstView = 0
  let number: Int
  let timestamp: CaptureInstant
  var iccProfile: [UInt8]?
  var decodedEighths = 8
  /// The GPU time of the passes, if it is known.
  var gpuTime: Duration?
}

/// Pictures of a frame, ready to be delivered.
struct EncodedFrame: Sendable {
  /// Without pictures if they are encoded.
  let frame: RenderedFrame
  /// The file of each view; nil if it is not encoded.
  let files: [EncodedPicture?]
  /// The files' part of a memory budget.
  var lease: MemoryLease?
}

extension RenderedFrame {
  init(_ pictures: [Picture], of piece: FramePiece, gpuTime: Duration? = nil) {
    let frame = piece.frame
    self.init(
      pictures: pictures, firstView: piece.firstView, number: piece.number, timestamp: frame.timestamp,
      iccProfile: frame.iccProfile, decodedEighths: frame.format.eighths, gpuTime: gpuTime)
  }
}

extension Renderer {
  /// Draws views of a frame. The device's timer is read only if the result is reported.
  func render(_ piece: FramePiece, _ settings: RenderSettings) async throws -> RenderedFrame {
    guard settings.reportsPictures else {
      return RenderedFrame(try await render(piece.frame, piece.plan), of: piece)
    }
    let (pictures, gpuTime) = try await renderTimed(piece.frame, piece.plan)
    return RenderedFrame(pictures, of: piece, gpuTime: gpuTime)
  }
}
