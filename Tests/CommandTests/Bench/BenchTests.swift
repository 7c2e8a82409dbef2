import Foundation
import Testing

@Suite("Bench")
struct BenchTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private struct Report: Decodable {
    struct Machine: Decodable {
      let cpu: String
      let cores: Int
      let system: String
      let kernel: String
    }
    struct Device: Decodable {
      let renderer: String
      let version: String
      let software: Bool
    }
    struct Limit: Decodable {
      let of: String
      let wallMilliseconds: Double
      let share: Double
    }
    struct Stage: Decodable {
      let stage: String
      let wallMilliseconds: Double
      let cpuMilliseconds: Double
      let gpuMilliseconds: Double?
      let bytes: Int
      let limit: Limit?
    }
    struct Whole: Decodable {
      let frames: Int
      let wallMilliseconds: Double
      let framesPerSecond: Double
    }
    struct Work: Decodable {
      let work: String
      let frames: Int
      let stages: [Stage]
      let sumWallMilliseconds: Double
      let whole: Whole

      subscript(name: String) -> Stage? { stages.first { $0.stage == name } }
    }
    let machine: Machine
    let device: Device
    let versions: [String: String]
    let works: [Work]
  }

  /// Frames are generated and drawn at full size: one run for all that is asked of it.
  @Test("`bench --json` prints one object with the machine, the device and each workload's stages")
  func json() async throws {
    let result = try await folder.run("bench", "--gpu", "llvmpipe", "--frames", "2", "--json")

    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.isEmpty)
    #expect(result.output.filter { $0 == UInt8(ascii: "\n") }.count == 1)

    let report = try JSONDecoder().decode(Report.self, from: Data(result.output))
    #expect(report.machine.cores > 0)
    #expect(!report.machine.kernel.isEmpty)
    #expect(!report.device.renderer.isEmpty)
    #expect(report.device.version.hasPrefix("OpenGL ES"))
    #expect(report.versions["libjpeg-turbo"]?.isEmpty == false)
    let version = String(decoding: try await folder.run("--version").output, as: UTF8.self)
    #expect(report.versions["glpreview"].map { "\($0)\n" } == version)

    #expect(report.works.map(\.work) == ["W1", "W2", "W3"])
    let afterReading = ["upload", "passes", "readback"]
    let stages: [[String]] = [
      ["decode"] + afterReading + ["encode"], ["read"] + afterReading + ["encode"], ["read"] + afterReading,
    ]
    #expect(report.works.map { $0.stages.map(\.stage) } == stages)
    for work in report.works {
      #expect(work.frames == 2)
      #expect(work.whole.frames == 2)
      #expect(work.whole.wallMilliseconds > 0)
      #expect(work.whole.framesPerSecond > 0)
      for stage in work.stages {
        // Where shaders can read a frame in place, nothing goes up.
        let isInPlace = stage.stage == "upload" && stage.bytes == 0
        #expect(stage.wallMilliseconds > 0 || isInPlace, "\(work.work) \(stage.stage)")
        #expect(stage.cpuMilliseconds >= 0)
        #expect(stage.bytes > 0 || isInPlace)
        #expect((stage.limit == nil) == (stage.stage == "passes" || isInPlace))
        // Software's own clock is not to be trusted.
        #expect(stage.gpuMilliseconds == nil || !report.device.software && stage.stage == "passes")
        if let limit = stage.limit {
          #expect(limit.wallMilliseconds > 0)
          #expect(limit.share > 0)
          #expect((limit.of == "memcpy") == ["read", "upload", "readback"].contains(stage.stage))
        }
      }
      let sum = work.stages.reduce(0) { $0 + $1.wallMilliseconds }
      #expect(abs(work.sumWallMilliseconds - sum) < 0.001)
    }

    // What goes up, if anything, is the frame, what comes back the pictures; rows may be padded to whole texels.
    for (work, frame) in [(1, 1920 * 1080 * 3 / 2), (2, 3840 * 2160 * 3 / 2)] {
      let stages = report.works[work]
      let (up, back) = (stages["upload"]?.bytes ?? -1, stages["readback"]?.bytes ?? -1)
      #expect([0, frame].contains(up))
      #expect(stages["passes"]?.bytes == frame + back)
    }
    #expect(report.works[2]["readback"]?.bytes == 640 * 360 * 4)
    #expect(report.works[0]["readback"]?.bytes == 640 * 360 * 3 / 2)
    #expect(try folder.names == [])
  }

  @Test("on the CPU, `bench` has no upload and no readback")
  func cpu() async throws {
    let result = try await folder.run("bench", "--gpu", "cpu", "--frames", "2", "--json")
    #expect(result.status == 0, "\(result.errors)")
    let report = try JSONDecoder().decode(Report.self, from: Data(result.output))
    #expect(report.device.renderer.hasPrefix("CPU ("))
    #expect(
      report.works.map { $0.stages.map(\.stage) } == [
        ["decode", "passes", "encode"], ["read", "passes", "encode"], ["read", "passes"],
      ])
  }

  @Test("`bench` prints a table with the stages, limits and rate of the chosen workload")
  func table() async throws {
    let result = try await folder.run("bench", "--gpu", "llvmpipe", "--frames", "1", "--work", "w2")

    #expect(result.status == 0, "\(result.errors)")
    let text = String(decoding: result.output, as: UTF8.self)
    let words = [
      "W2", "read", "upload", "passes", "readback", "encode", "sum", "overlapped", "memcpy",
      "libjpeg-turbo alone",
      "fps", "cores",
    ]
    for word in words { #expect(text.contains(word), "\(word)") }
    #expect(!text.contains("W1"))
    let software = text.contains(", software")
    #expect(!software || !text.contains("GPU's clock"))
  }

  @Test(
    "an unknown workload exits with 64, and the error lists the known ones",
    arguments: ["W4", "", "W1,", "W1,fast"])
  func unknown(work: String) async throws {
    expectFailure(try await folder.run("bench", "--work", work), 64, naming: "--work", "W1, W2, W3")
  }

  @Test(
    "`bench` with an unknown device exits with 69",
    arguments: [["--gpu", "4711"], ["--json", "--gpu", "/nonexistent"]])
  func noDevice(arguments: [String]) async throws {
    let result = try await folder.run(["bench"] + arguments)
    #expect(result.status == 69)
    #expect(result.output.isEmpty)
    #expect(result.errors.hasPrefix("glpreview: "))
  }

  @Test("`bench --help` names its options, workloads, limits and exit statuses")
  func help() async throws {
    let result = try await folder.run("bench", "--help")
    #expect(result.status == 0)
    let text = String(decoding: result.output, as: UTF8.self)
    let words = [
      "--work", "--frames", "--seconds", "--gpu", "--json", "--write-frames", "W1", "W2", "W3", "memcpy",
      "libjpeg-turbo", "64", "69",
    ]
    for word in words { #expect(text.contains(word), "\(word)") }
  }

  @Test("`bench --write-frames` writes distinct JPEGs and an MJPEG file that `render` reads")
  func frames() async throws {
    let result = try await folder.run("bench", "--work", "W1", "--write-frames", "frames")

    #expect(result.status == 0, "\(result.errors)")
    let written = String(decoding: result.output, as: UTF8.self).split(separator: "\n").map(String.init)
    #expect(written == ["frames/W1.mjpeg"] + (0..<8).map { "frames/W1-\($0).jpg" })
    let pictures = try (0..<8).map { try folder.bytes(of: "frames/W1-\($0).jpg") }
    #expect(Set(pictures).count == 8, "frames must differ")
    #expect(try folder.bytes(of: "frames/W1.mjpeg") == pictures.flatMap { $0 })

    let render = try await folder.render(
      "frames/W1.mjpeg", "--frames", "1", "--crop", "16x16+0+0", "-o", "null:", "--json")
    #expect(try render.reports.map(\.width) == [16])
  }

  @Test("`bench --write-frames` exits with 74 for a failed file and with 64 for a failed folder")
  func frameFailures() async throws {
    try folder.write([], to: "file")
    expectFailure(try await folder.run("bench", "--write-frames", "file/frames"), 64, naming: "file/frames")
    try folder.makeFolder("full")
    try folder.makeFolder("full/W1.mjpeg")
    expectFailure(
      try await folder.run("bench", "--work", "W1", "--write-frames", "full"), 74, naming: "W1.mjpeg")
  }
}
