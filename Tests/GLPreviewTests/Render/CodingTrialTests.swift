import Foundation
import Testing

@testable import Basics
@testable import GLPreview

@Suite("The trial of JPEG", .timeLimit(.minutes(15)))
struct CodingTrialTests {
  /// Hardware that nobody has tried.
  private static func device() -> GPUDevice {
    GPUDevice(
      DeviceCandidate(index: 0, platform: .surfaceless, drmNode: nil, isMarkedSoftware: false),
      .works(
        GPUDevice.Driver(
          name: "driver", vendor: "Vendor", renderer: "GPU \(UUID())", version: GLVersion(3, 1),
          versionText: "1", maximumTextureSize: 4096)))
  }

  private static func note(_ cache: TestCache) -> String? {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: cache.path)) ?? []
    return names.first { $0.hasSuffix(".jpeg") }
      .flatMap { try? String(contentsOfFile: "\(cache.path)/\($0)", encoding: .utf8) }
  }

  /// Runs a trial with what a renderer draws and codes, in as much time as `seconds` says, and as `change` changes it.
  private static func run(
    seconds: (_ isCoded: Bool) -> Double, _ change: (_ round: Int, Picture) -> Picture = { $1 }
  ) async throws -> (JPEGProcessor, note: String?)? {
    let software = try await GPUDevice.chooseForGL()
    guard let tuning = software.tuningForCoding else { return nil }
    let (device, cache) = (Self.device(), try TestCache())
    let state = try GLState(software, tuning)
    var round = 0
    let found = try CodingTrial.run(on: device, tuning, in: cache.folder) { frame, plan in
      round += 1
      var (pictures, measurement) = try state.measure(frame, plan)
      measurement.readback.wall = .zero
      measurement.passes.wall = .seconds(seconds(plan.views[0].coding != nil))
      pictures = pictures.map { $0.scan == nil ? $0 : change(round, $0) }
      return (pictures, measurement)
    }
    #expect(device.jpegProcessor == found || JPEGProcessor.chosen != .automatic)
    state.removeCached()
    return (found, note(cache))
  }

  @Test("the GPU codes if it takes clearly less time for the same bytes, and the result is kept")
  func choice() async throws {
    guard let fast = try await Self.run(seconds: { $0 ? 1 + 1e-6 : 1 }) else { return }
    #expect(fast == (.gpu, "gpu"))
    let slow = try await Self.run(seconds: { $0 ? 60 : 1 })
    #expect(try #require(slow) == (.cpu, "cpu"))
  }

  @Test("the CPU codes if a byte differs in any round, or a picture is not coded", arguments: [1, 3, 6, 16])
  func wrong(round: Int) async throws {
    let changed = try await Self.run(seconds: { _ in 1 }) { now, picture in
      guard now == round, let scan = picture.scan else { return picture }
      var bytes = scan.bytes
      bytes[bytes.count / 2] ^= 1
      return picture.with(Picture.Scan(quality: scan.quality, bytes: bytes, maximumBytes: scan.maximumBytes))
    }
    guard let changed else { return }
    #expect(changed == (.cpu, "cpu"))
  }
}
