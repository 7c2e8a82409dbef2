import Foundation
import Testing

@testable import Basics
@testable import GLPreview

extension TestCache {
  /// The content of all files.
  fileprivate var notes: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.filter { $0.hasSuffix(".passes") }
      .compactMap { try? String(contentsOfFile: "\(path)/\($0)", encoding: .utf8) }
  }
}

@Suite("The trial of shaders", .timeLimit(.minutes(15)))
struct PassTrialTests {
  /// Hardware that nobody has tried.
  private static func device(_ version: GLVersion = GLVersion(3, 1)) -> GPUDevice {
    GPUDevice(
      DeviceCandidate(index: 0, platform: .surfaceless, drmNode: nil, isMarkedSoftware: false),
      .works(
        GPUDevice.Driver(
          name: "driver", vendor: "Vendor", renderer: "GPU \(UUID())", version: version, versionText: "1",
          maximumTextureSize: 4096)))
  }

  private static func picture(_ code: UInt8) -> Picture {
    Picture(
      size: Size(width: 4, height: 1), format: .rgba,
      planes: [Picture.Plane(size: Size(width: 4, height: 1), offset: 0, bytesPerRow: 16)],
      bytes: [UInt8](repeating: code, count: 16))
  }

  private static func measured(_ code: UInt8, _ milliseconds: Int) -> (
    pictures: [Picture], measurement: RenderMeasurement
  ) {
    var measurement = RenderMeasurement()
    measurement.passes.wall = .milliseconds(milliseconds)
    return ([picture(code)], measurement)
  }

  @Test(
    "compute shaders draw if they take clearly less time for the same pictures, and the result is kept",
    arguments: [
      (fragments: 100, compute: 50, code: 8, faster: PassMethod.compute), (100, 50, 9, .compute),
      (100, 50, 10, .fragments), (100, 95, 8, .fragments), (100, 200, 8, .fragments),
    ])
  func choice(fragments: Int, compute: Int, code: Int, faster: PassMethod) throws {
    let (device, cache) = (Self.device(), try TestCache())
    #expect(try PassTrial.known(#require(device.driver), cache.folder) == nil)
    let found = try PassTrial.run(on: device, device.tuning, in: cache.folder) { method, _, _ in
      method == .fragments ? Self.measured(8, fragments) : Self.measured(UInt8(code), compute)
    }
    #expect(found == faster)
    #expect(device.passes == faster && device.tuning.passes == faster)
    #expect(cache.notes == [faster.rawValue])
  }

  @Test("the time of the readback counts, and that of the first round, which compiles, does not")
  func stages() throws {
    let (device, cache) = (Self.device(), try TestCache())
    var count = 0
    let found = try PassTrial.run(on: device, device.tuning, in: cache.folder) { method, _, plan in
      let isTimed = plan.views.count > 1
      if isTimed { count += 1 }
      var drawn = Self.measured(0, 10)
      drawn.measurement.readback.wall = .milliseconds(
        !isTimed || count <= 2 ? (method == .compute ? 1000 : 1) : method == .compute ? 10 : 90)
      return drawn
    }
    #expect(found == .compute)
  }

  @Test("compute shaders whose pictures differ in a later round do not draw")
  func changing() throws {
    let (device, cache) = (Self.device(), try TestCache())
    var count = 0
    let found = try PassTrial.run(on: device, device.tuning, in: cache.folder) { method, _, plan in
      if plan.views.count > 1 { count += 1 }
      return Self.measured(count > 8 && method == .compute ? 3 : 0, method == .compute ? 10 : 90)
    }
    #expect(found == .fragments && count < 14)
  }

  @Test("fragment shaders draw if compute shaders are refused, and that is kept")
  func failure() throws {
    let (device, cache) = (Self.device(), try TestCache())
    let found = try PassTrial.run(on: device, device.tuning, in: cache.folder) { method, _, _ in
      guard method == .fragments else {
        throw ShaderRefusal()
      }
      return Self.measured(0, 10)
    }
    #expect(found == .fragments && device.passes == .fragments)
    #expect(cache.notes == ["fragments"])
  }

  @Test("the result of an accident is not kept for the next process")
  func accident() throws {
    let (device, cache) = (Self.device(), try TestCache())
    let found = try PassTrial.run(on: device, device.tuning, in: cache.folder) { _, _, _ in
      throw GLError("a texture", .flag(0x0505))
    }
    #expect(found == .fragments && cache.notes == [""])
  }

  @Test("a trial that ends the process twice is not begun again")
  func crash() throws {
    let cache = try TestCache()
    // Each device stands for a start, of the same driver.
    let device = Self.device()
    let driver = try #require(device.driver)
    for note in ["trial 1", "trial 2"] {
      #expect(PassTrial.known(driver, cache.folder) == nil)
      #expect(throws: GLError.self) {
        _ = try PassTrial.run(on: device, device.tuning, in: cache.folder) { _, _, _ in
          throw GLError.contextLost
        }
      }
      #expect(cache.notes == [note])
    }
    let found = try PassTrial.run(on: device, device.tuning, in: cache.folder) { _, _, _ in
      Issue.record("a third trial")
      throw GLError.contextLost
    }
    #expect(found == .fragments && cache.notes == ["fragments"])
  }

  @Test("without a folder for the result, and while another renderer tries, there is no trial")
  func noFolder() throws {
    let (device, cache) = (Self.device(), try TestCache())
    #expect(try PassTrial.known(#require(device.driver), nil) == .fragments)
    let base = "\(cache.base)/missing/missing"
    let missing = CacheFolder(base: try #require(TestCache.base(at: base)))
    for folder in [nil, missing] {
      let found = try PassTrial.run(on: device, device.tuning, in: folder) { _, _, _ in
        Issue.record("a trial")
        return Self.measured(0, 1)
      }
      #expect(found == .fragments)
      #expect(try PassTrial.known(#require(device.driver), cache.folder) == nil)
    }
    var isOuter = true
    let found = try PassTrial.run(on: device, device.tuning, in: cache.folder) { method, _, _ in
      if isOuter {
        isOuter = false
        let inner = try PassTrial.run(on: device, device.tuning, in: cache.folder) { _, _, _ in
          Issue.record("a second trial")
          return Self.measured(0, 1)
        }
        #expect(inner == .fragments)
      }
      return Self.measured(0, method == .compute ? 10 : 90)
    }
    #expect(found == .compute && device.passes == .compute)
  }

  @Test("neither OpenGL ES 3.0 nor software is tried")
  func untried() async throws {
    #expect(Self.device(GLVersion(3, 0)).passes == .fragments)
    #expect(GPUDevice.cpu.passes == nil)
    let device = try await GPUDevice.chooseForGL()
    #expect(!device.isSoftware || device.tuning.passes == .fragments)
  }

  @Test("a renderer that is to try both kinds draws the same as one that is not")
  func drawing() async throws {
    let device = try await GPUDevice.chooseForGL()
    guard let version = device.driver?.version, version >= GLVersion(3, 1) else { return }
    func tuning(_ passes: PassMethod?) -> RenderTuning {
      RenderTuning(maximumTargetSide: device.tuning.maximumTargetSide, boxes: .texels, passes: passes)
    }
    let renderer = try await GLRenderer.open(on: device, tuning: tuning(nil))
    let plain = try await GLRenderer.open(on: device, tuning: tuning(.fragments))
    let frame = try Frame(
      tight: Frame.Format(.nv12, Size(width: 64, height: 48), color: .jfif),
      bytes: (0..<64 * 72).map { UInt8(truncatingIfNeeded: $0 * 37 >> 2) })
    let plan = try renderer.plan(frame.format, [ViewConfiguration(width: 20)], as: .ycbcr(.yuv420))
    #expect(try await renderer.render(frame, plan) == plain.render(frame, plan))
    await renderer.close()
    await plain.close()
  }
}
