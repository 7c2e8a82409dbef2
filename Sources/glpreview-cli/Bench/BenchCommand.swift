// `glpreview bench`: what each stage of a frame's way costs on this machine, and how near that is to what can be had.
import ArgumentParser
import GLPreview
import GLPreviewServer

struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measure what a frame costs on this machine, stage by stage.",
    discussion: """
      Frames are generated here, with a photograph's detail, and are the same on every machine:
      \(BenchWork.allCases.map { "  \($0.rawValue)  \($0.title)" }.joined(separator: "\n"))

      First each stage by itself, the GPU finished before the next begins: medians of wall and CPU time (of all \
      threads) a frame, the bytes it moves, and how near it comes to its limit, which is measured beside it: memcpy of the \
      same bytes, or libjpeg-turbo alone with the same settings and memory that is kept. A GPU with a clock also says \
      what the passes take by it. Then all stages overlapping, as `render` runs them.

      Exit status 64 where a work is unknown, 69 where no device works.
      """)

  @Option(help: ArgumentHelp("Of W1, W2, W3, with commas.", valueName: "WORKS"))
  var work = "W1,W2,W3"

  @Option(
    help: ArgumentHelp("Frames of each of the two measurements (default: by --seconds).", valueName: "N"))
  var frames: Int?

  @Option(help: ArgumentHelp("Of each of the two measurements, about.", valueName: "N"))
  var seconds = 2.0

  @OptionGroup var deviceOptions: DeviceOptions

  @Flag(help: "One JSON object: machine, device, versions, and each work with its stages.")
  var json = false

  @Option(
    help: ArgumentHelp(
      "Measure nothing; write the frames there (W1.mjpeg, W1-0.jpg, ..., W2.nv12, W3.nv12), for other programs.",
      valueName: "FOLDER"))
  var writeFrames: String?

  func validate() throws {
    if let frames, !(1...1_000_000).contains(frames) {
      throw ValidationError("--frames \(frames) is not within 1...1000000")
    }
    guard (0.001...3600).contains(seconds) else {
      throw ValidationError("--seconds \(seconds) is not within 0.001...3600")
    }
  }

  func run() async throws {
    try await ExitStatus.of {
      let works = try BenchWork.works(work)
      if let writeFrames {
        for path in try BenchInput().writeAll(works, into: writeFrames) { try StandardOutput.print(path) }
        return
      }
      let length = frames.map { BenchLength.frames($0) } ?? .seconds(seconds)
      let (gpu, json) = (deviceOptions.gpu, json)
      try await Interruption.cancelling { try await Self.measure(works, length, gpu, json: json) }
    }
  }

  private static func measure(
    _ works: [BenchWork], _ length: BenchLength, _ gpu: GPUChoice, json: Bool
  ) async throws {
    let device = try await GPUDevice.choose(gpu)
    let renderer = try await GLRenderer.open(on: device)
    let input = if case .frames(let count) = length { BenchInput(atMost: count) } else { BenchInput() }
    var report = BenchReport(on: device)
    if !json { try StandardOutput.print(report.heading) }
    try await TemporaryFolder.with { folder in
      for work in works {
        let frames = try input.frames(for: work)
        let file = try input.write(frames, of: work, into: folder)
        let run = BenchRun(work: work, frames: frames, file: file, renderer: renderer, length: length)
        let result = try await run.result()
        report.works.append(result)
        if !json { try StandardOutput.print("\n\(result)") }
      }
    }
    await renderer.close()
    if json { try StandardOutput.print(report.jsonLine()) }
  }
}

extension BenchReport {
  /// Nothing is measured yet.
  fileprivate init(on device: GPUDevice) {
    self.init(
      machine: Machine(), device: Device(device),
      versions: [
        "glpreview": PreviewServer.version, "libjpeg-turbo": JPEGBaseline.libraryVersion,
      ], works: [])
  }
}
