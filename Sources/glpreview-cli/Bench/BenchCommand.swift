// `glpreview bench`: measures the cost of each stage of a frame on this machine, and compares it with a lower
// limit.
import ArgumentParser
import Bench
import GLPreview
import GLPreviewServer

struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measure what a frame costs on this machine, stage by stage.",
    discussion: """
      Frames are generated, have the detail of a photograph, and are the same on every machine:
      \(BenchWork.allCases.map { "  \($0.rawValue)  \($0.title)" }.joined(separator: "\n"))

      First each stage is measured alone; the GPU finishes before the next begins. The table shows medians per frame of \
      wall time and CPU time (all threads), the bytes moved, and the ratio to a limit measured alongside: memcpy of the \
      same bytes, or plain libjpeg-turbo with the same settings and reused memory. A GPU with a clock also reports the \
      time of the passes. Then all stages run overlapped, as in `render`.

      Exit status: 64 unknown workload, 69 no device works.
      """)

  @Option(help: ArgumentHelp("The workloads to run, separated by commas.", valueName: "WORKS"))
  var work = "W1,W2,W3"

  @Option(
    help: ArgumentHelp(
      "Frames in each of the two measurements (default: as many as --seconds allows).", valueName: "N"))
  var frames: Int?

  @Option(
    help: ArgumentHelp("Approximate duration of each of the two measurements, in seconds.", valueName: "N"))
  var seconds = 2.0

  @OptionGroup var deviceOptions: DeviceOptions
  @OptionGroup var jpegOptions: JPEGOptions

  @Flag(help: "Print one JSON object: machine, device, versions, and each work with its stages.")
  var json = false

  @Option(
    help: ArgumentHelp(
      "Instead of measuring, write the frames to FOLDER (W1.mjpeg, W1-0.jpg, ..., W2.nv12, W3.nv12) for other programs.",
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
      jpegOptions.apply()
      try await Interruption.cancelling { try await Self.measure(works, length, gpu, json: json) }
    }
  }

  private static func measure(
    _ works: [BenchWork], _ length: BenchLength, _ gpu: GPUDevice.Choice, json: Bool
  ) async throws {
    let device = try await GPUDevice.choose(gpu)
    let renderer = try await Renderers.open(on: device)
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
  /// Creates a report without measurements.
  fileprivate init(on device: GPUDevice) {
    self.init(
      machine: Machine(), device: Device(device),
      versions: [
        "glpreview": PreviewServer.version, "libjpeg-turbo": JPEGBaseline.libraryVersion,
      ], works: [])
  }
}
