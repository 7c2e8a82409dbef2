import Foundation
import Testing

@Suite("Devices")
struct DevicesTests {
  private let folder: TestFolder
  /// As on a machine with no driver at all.
  private let nothing = ["__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent"]

  init() throws { folder = try TestFolder() }

  private struct Report: Decodable {
    struct Device: Decodable {
      let index: Int?
      let works: Bool
      let picked: Bool
      let software: Bool
      let renderer: String?
      let reason: String?
    }
    struct Encoder: Decodable {
      let name: String
      let works: Bool
      let reason: String?
    }
    let devices: [Device]
    let picked: Int?
    let encoders: [Encoder]
  }

  private func report(_ result: CommandResult) throws -> Report {
    try JSONDecoder().decode(Report.self, from: Data(result.output))
  }

  @Test("`devices` prints tables of devices and encoders, and marks exactly one device")
  func list() async throws {
    let result = try await folder.run("devices")
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
    #expect(lines.first?.contains("RENDERER") == true)
    let encoders = try #require(lines.firstIndex { $0.contains("ENCODER") })
    #expect(lines[..<encoders].filter { $0.hasPrefix("*") }.count == 1)
    #expect(lines[encoders...].filter { $0.hasPrefix("*") }.count <= 1)
  }

  @Test("`devices --json` prints one line with the picked device and every encoder")
  func json() async throws {
    let result = try await folder.run("devices", "--json")
    #expect(result.status == 0)
    #expect(result.output.filter { $0 == UInt8(ascii: "\n") }.count == 1)
    let report = try report(result)
    let picked = try #require(report.devices.first { $0.picked })
    #expect(picked.works)
    #expect(picked.index == report.picked)
    #expect(picked.renderer?.isEmpty == false)
    #expect(report.encoders.map(\.name) == ["v4l2m2m", "vaapi", "nvenc", "x264", "openh264"])
    #expect(report.encoders.allSatisfy { $0.works == ($0.reason == nil) })
  }

  @Test("`render --gpu` accepts the CPU and a listed index, and the report names the renderer")
  func number() async throws {
    let listed = try report(try await folder.run("devices", "--json"))
    for device in listed.devices where device.works {
      let result = try await folder.run(
        "render", "pattern:smpte,size=16x8", "--gpu", device.index.map { "\($0)" } ?? "cpu", "-o", "null:",
        "--json")
      #expect(result.status == 0)
      #expect(try result.reports.map(\.renderer) == [device.renderer])
    }
    #expect(listed.devices.first?.renderer?.hasPrefix("CPU (") == true)
  }

  @Test(
    "an unknown device exits with 69, and the error names it and gives advice",
    arguments: ["4711", "/dev/null", "/nonexistent"])
  func missing(device: String) async throws {
    for arguments in [["render", "pattern:smpte,size=16x8", "-o", "x.png"], ["devices"], ["verify"]] {
      let result = try await folder.run(arguments + ["--gpu", device])
      #expect(result.status == 69)
      #expect(result.errors.hasPrefix("glpreview: "))
      #expect(result.errors.contains(device))
      #expect(result.errors.contains("what may help:\n  - "))
    }
    #expect(try folder.names == [])
  }

  @Test("without any driver, commands draw on the CPU")
  func noDriver() async throws {
    for arguments in [["render", "pattern:smpte,size=16x8", "-o", "x.png"], ["devices"], ["verify"]] {
      let result = try await folder.run(arguments, environment: nothing)
      #expect(result.status == 0, "\(result.errors)")
    }
    #expect(try folder.names == ["x.png"])
  }

  @Test("without any driver, commands that must use one exit with 69 and print advice")
  func requiredDriver() async throws {
    for arguments in [["render", "pattern:smpte,size=16x8", "-o", "x.png"], ["devices"], ["verify"]] {
      for choice in ["llvmpipe", "hardware"] {
        let result = try await folder.run(arguments + ["--gpu", choice], environment: nothing)
        #expect(result.status == 69)
        #expect(result.errors.hasPrefix("glpreview: no "))
        #expect(result.errors.contains("unset __EGL_VENDOR_LIBRARY_FILENAMES"))
      }
    }
    #expect(try folder.names == [])
  }

  @Test("without any driver, `devices --json` picks the CPU and has a reason for each other device")
  func noDriverAsJSON() async throws {
    let report = try report(try await folder.run(["devices", "--json"], environment: nothing))
    #expect(report.picked == nil)
    #expect(report.devices.first?.works == true && report.devices.first?.picked == true)
    #expect(report.devices.dropFirst().allSatisfy { !$0.works && $0.reason?.isEmpty == false })
  }

  @Test("the reference renderer works without any driver")
  func reference() async throws {
    let result = try await folder.run(
      ["render", "pattern:smpte,size=16x8", "--renderer", "reference", "-o", "x.png"], environment: nothing)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try folder.names == ["x.png"])
  }

  @Test("a missing source exits with 66 even without the device")
  func sourceFirst() async throws {
    expectFailure(
      try await folder.run(["render", "missing.jpg", "--gpu", "llvmpipe"], environment: nothing), 66,
      naming: "missing.jpg")
  }
}
