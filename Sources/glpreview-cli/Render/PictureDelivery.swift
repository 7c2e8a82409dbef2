// The last stage of `glpreview render`: writes and reports pictures.
import GLPreview
import Glibc
import Synchronization

/// Delivers pictures one after another.
final class PictureDelivery: Sendable {
  private let settings: RenderSettings
  /// The source; nil for a scene and for files of a batch.
  private let source: (any FrameSource)?
  /// The files that must not be overwritten, because they are being read.
  private let paths: [String]
  /// The video file of each view, opened at its first picture.
  private let videos = Mutex<[String: VideoOutput]>([:])

  init(_ settings: RenderSettings, of source: (any FrameSource)?, at paths: [String] = []) {
    self.settings = settings
    self.source = source
    self.paths = paths
  }

  /// Delivers all pictures with `body`, and finishes the video files. After an error or a cancellation, the
  /// files contain the pictures up to that point.
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

  /// Writes a picture and reports it. A picture of a batch goes to its item's output.
  func deliver(_ picture: PipelinePicture, of item: Batch.Item? = nil) async throws {
    let output = item?.output ?? settings.output
    let name = output.name(view: picture.view, frame: picture.frame)
    var byteCount = picture.file?.bytes.count
    switch (output, picture.content) {
    case (.files, .file(let file)): if let name { try file.write(to: name) }
    case (.standardOutput, .file(let file)):
      try PictureFile.write(file.bytes, to: STDOUT_FILENO, named: "standard output")
    case (.video(_, let format), .samples(let samples)):
      let video = try await video(name ?? "-", format)
      byteCount = try await video.write(samples, at: picture.timestamp)
    default: break
    }
    guard settings.reportsPictures else { return }
    // Timestamps of live sources and scenes are those of `CaptureClock`.
    let isTimed = item == nil && source?.isLive ?? true
    let report = PictureReport(
      source: item?.source, index: item?.index, view: picture.view, frame: picture.frame,
      timestamp: picture.timestamp.sinceStart / .seconds(1),
      time: isTimed ? CaptureClock.timeSince1970(picture.timestamp) / .seconds(1) : nil,
      ageMilliseconds: isTimed ? (CaptureClock.now - picture.timestamp).milliseconds : nil,
      transport: source?.status.mode?.transport, width: picture.size.width, height: picture.size.height,
      file: name, format: output.formatName, bytes: byteCount, quality: picture.file?.quality,
      decodedEighths: picture.decodedEighths, renderer: picture.renderer,
      frameGPUMilliseconds: picture.gpuTime?.milliseconds)
    // If pictures go to standard output, reports go to standard error.
    if output.takesStandardOutput {
      StandardError.print(try report.jsonLine())
    } else {
      try StandardOutput.print(report.jsonLine())
    }
  }

  private func video(_ path: String, _ format: VideoFormat) async throws -> VideoOutput {
    if let video = videos.withLock({ $0[path] }) { return video }
    guard !paths.contains(where: { VideoFile.isSameFile(path, $0) }) else {
      throw UsageError("-o \(path) is the source itself")
    }
    let video = try await VideoOutput(path, format, settings, framesPerSecond: framesPerSecond)
    videos.withLock { $0[path] = video }
    return video
  }

  /// The source's rate if it is known, reduced by skipped frames.
  private var framesPerSecond: Double {
    get async {
      if let rate = settings.encoding.fps { return rate }
      let rate = (await source?.framesPerSecond ?? 30) / Double(settings.schedule.every)
      guard let interval = settings.schedule.interval, interval > .zero else { return rate }
      return min(rate, .seconds(1) / interval)
    }
  }
}
