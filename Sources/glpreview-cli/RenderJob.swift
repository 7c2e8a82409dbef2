// The work of `glpreview render`: frame by frame through plan, renderer, encoder, to where pictures go.
import GLPreview
import Glibc
import ReferenceRenderer

/// One run.
struct RenderJob {
  let source: String
  let sourceOptions: SourceOptions
  let views: [ViewConfiguration]
  let output: RenderOutput
  /// Nil where pictures are not encoded.
  let encoder: PictureEncoder?
  let schedule: FrameSchedule
  let maximumPixels: Int
  let reportsPictures: Bool
  let isQuiet: Bool

  /// Opens what is needed and renders all frames that are due.
  func run(on choice: RendererChoice, _ gpu: GPUChoice) async throws {
    let source = try await SourceLocator(source).open(sourceOptions)
    // A stream can't be played again: better said before a picture is written than after.
    if schedule.loops > 1 { try await source.rewind() }
    switch choice {
    case .reference:
      try await run(
        source, ReferenceRenderer(), RenderPlanner(maximumPixels: maximumPixels), rendererName: "reference")
    case .gpu:
      let device = try await GPUDevice.choose(gpu)
      let renderer = try await GLRenderer.open(on: device)
      let planner = RenderPlanner(tuning: renderer.tuning, maximumPixels: maximumPixels)
      do {
        try await run(source, renderer, planner, rendererName: device.name)
      } catch {
        await renderer.close()
        throw error
      }
      await renderer.close()
    }
  }

  private func run(
    _ source: any FrameSource, _ renderer: some Renderer, _ planner: RenderPlanner, rendererName: String
  ) async throws {
    var frames = ScheduledFrames(source, schedule)
    var progress = Progress(isQuiet: isQuiet, expectsManyFrames: schedule.limit != 1)
    var plan: RenderPlan?
    guard var next = try await frames.next() else {
      throw SourceError(.badData, path: self.source, reason: "has no frames")
    }
    while true {
      let (frame, number) = next
      // Before anything is written it must be clear that nothing will be written over it.
      if output.keepsOneFrame, schedule.limit != 1, try await frames.next() != nil {
        throw UsageError(
          "\(self.source) has several frames for one name; put {frame} into it, or say --frames 1")
      }
      let framePlan =
        try plan.flatMap { $0.source == frame.format ? $0 : nil }
        ?? planner.plan(
          frame.format, views.map { ViewRequest($0, as: encoder?.pictureFormat ?? .rgba) })
      plan = framePlan
      let pictures = try await renderer.render(frame, framePlan)
      try deliver(pictures, of: frame, number, rendererName)
      progress.frameDone(of: schedule.limit)
      guard let following = try await frames.next() else { break }
      next = following
    }
    progress.end(of: schedule.limit)
  }

  private func deliver(_ pictures: [Picture], of frame: Frame, _ number: Int, _ rendererName: String) throws {
    for (view, picture) in zip(views, pictures) {
      try Task.checkCancellation()
      let file = output.name(view: view.name, frame: number)
      let encoded: EncodedPicture?
      do throws(EncodingError) {
        encoded = try encoder?.encode(picture, iccProfile: frame.iccProfile)
      } catch {
        throw PictureError(description: "\(file ?? "view '\(view.name)'"): \(error)")
      }
      if let encoded {
        switch output {
        case .files: if let file { try PictureFile.write(encoded.bytes, to: file) }
        case .standardOutput:
          try PictureFile.write(encoded.bytes, to: STDOUT_FILENO, named: "standard output")
        case .nowhere: break
        }
      }
      guard reportsPictures else { continue }
      try report(
        PictureReport(
          view: view.name, frame: number, timestamp: frame.timestamp / .seconds(1), width: picture.size.width,
          height: picture.size.height, file: file, format: encoder?.format.rawValue,
          bytes: encoded?.bytes.count, quality: encoded?.quality, renderer: rendererName))
    }
  }

  /// Beside pictures on standard output, reports go to standard error.
  private func report(_ picture: PictureReport) throws {
    let line = try picture.jsonLine()
    if case .standardOutput = output {
      StandardError.print(line)
    } else {
      try StandardOutput.print(line)
    }
  }
}
