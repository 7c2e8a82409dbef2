// Pictures that the camera writes and the renderer reads in place, compared with copies of the same ones.
import Basics
import CaptureCore
import Foundation
import TestSupport
import Testing

@testable import GLPreview

extension CameraMachine {
  @Suite("dma-buf") struct DMABufferTests {
    private let camera: Vivid

    init() throws { camera = try Vivid.camera() }

    /// vgem's own node, by which Mesa's software makes buffers; by the render node it may not.
    private static let device = DeviceProbe.probe(
      DeviceCandidate(
        index: 0, platform: .gbm(node: "/dev/dri/card0"), drmNode: "/dev/dri/card0", isMarkedSoftware: false))

    /// In two passes, and as it is.
    private static let views = [
      ViewConfiguration(width: 61, height: 47, contentMode: .stretch, filter: .bicubic), ViewConfiguration(),
    ]
    /// The other ways to draw; programs take the emulated machine seconds.
    private static let furtherViews = [
      ViewConfiguration(width: 80), ViewConfiguration(width: 97, filter: .nearest),
      ViewConfiguration(width: 200, filter: .bilinear),
      ViewConfiguration(rotation: .clockwise90, width: 90), ViewConfiguration(width: 100, light: .linear),
    ]

    private struct Setting {
      let renderer: GLRenderer
      let pool: FramePool
      let source: LiveSource
    }

    /// Opens a renderer, and a camera that may share buffers with it.
    private func open(
      _ name: String, tuning tuned: (inout RenderTuning) -> Void,
      change: (inout SourceOptions) -> Void = { _ in }
    ) async throws -> Setting {
      let renderer = try await Self.renderer(tuned: tuned)
      let pool = FramePool()
      await renderer.lendMemory(to: pool)
      return Setting(renderer: renderer, pool: pool, source: try await open(name, pool, change))
    }

    private func open(
      _ name: String, change: (inout SourceOptions) -> Void = { _ in }
    ) async throws -> Setting {
      try await open(name, tuning: { _ in }, change: change)
    }

    private static func renderer(tuned: (inout RenderTuning) -> Void = { _ in }) async throws -> GLRenderer {
      try #require(device.driver != nil, "\(device)")
      var tuning = device.tuning
      tuned(&tuning)
      return try await GLRenderer.open(on: device, tuning: tuning)
    }

    private func open(
      _ name: String, _ pool: FramePool, _ change: (inout SourceOptions) -> Void = { _ in }
    ) async throws -> LiveSource {
      var options = SourceOptions()
      options.live = LiveOptions(
        delivery: .newest, stallsAfter: allTheTimeThereIs, reconnectsAfter: allTheTimeThereIs,
        connectsWithin: allTheTimeThereIs)
      options.memory = pool
      options.dmaBuffers = .automatic
      change(&options)
      return try #require(try await SourceLocator(name).open(options) as? LiveSource)
    }

    private static func copy(_ frame: Frame) throws -> Frame {
      try Frame(frame.format, bytes: frame.bytes, planes: frame.planes)
    }

    private static func isShared(_ frame: Frame) -> Bool { frame.storage.memory is SharedFrameMemory }

    /// Whether views of a frame in a camera's buffer have the bytes that a copy gives, by the GPU and by the CPU.
    private static func check(
      _ frame: Frame, _ renderer: GLRenderer, _ views: [ViewConfiguration],
      as formats: [Picture.Format] = [.rgba]
    ) async throws {
      let copied = try copy(frame)
      let requests = formats.flatMap { format in views.map { ViewRequest($0, as: format) } }
      for renderer in [renderer, CPUDrawing()] as [any DeviceRenderer] {
        let plan = try RenderPlanner(tuning: renderer.tuning).plan(frame.format, requests)
        let inPlace = try await renderer.render(frame, plan)
        let expected = try await renderer.render(copied, plan)
        for (index, request) in requests.enumerated() {
          #expect(
            inPlace[index].bytes == expected[index].bytes,
            "\(frame.format): \(request.view) as \(request.format) by \(renderer.device)")
        }
      }
    }

    // MARK: Pictures

    @Test(
      "a frame in the camera's buffer gives the bytes that its copy gives, whatever the stride",
      arguments: ["YUYV", "NV12", "YU12", "GREY", "RGB3", "NV16"])
    func bytes(format: String) async throws {
      let pool = FramePool()
      let renderer = try await Self.renderer { $0.boxes = .texels }
      await renderer.lendMemory(to: pool)
      for size in [
        Size(width: 320, height: 180), Size(width: 640, height: 360), Size(width: 1280, height: 720),
      ] {
        let source = try await open("\(camera.node),format=\(format),size=\(size)", pool)
        let frame = try await source.frame()
        #expect(Self.isShared(frame))
        #expect(source.status.mode?.transport == "dma-buf")
        #expect(source.status.mode?.copyingReason == nil)
        #expect(frame.planes[0].bytesPerRow % 256 == 0)
        try await Self.check(frame, renderer, Self.views)
        await source.close()
      }
      await renderer.close()
    }

    @Test(
      "by external samplers, and beside programs for software, the bytes are the same",
      arguments: [true, false])
    func readings(isExternal: Bool) async throws {
      let setting = try await open(
        "\(camera.node),format=NV12,size=320x180", tuning: { $0.importsExternally = isExternal })
      try await Self.check(
        try await setting.source.frame(), setting.renderer,
        isExternal ? Self.views + Self.furtherViews : Self.furtherViews,
        as: isExternal ? [.rgba] : [.ycbcr(.yuv420)])
      await setting.source.close()
      await setting.renderer.close()
    }

    @Test("a camera whose pictures have to be changed in memory is copied, and says why")
    func copied() async throws {
      var setting = try await open("\(camera.node),format=YUYV,size=320x180") {
        $0.masks = [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 100, height: 100)))]
      }
      let masked = try await setting.source.frame()
      #expect(!Self.isShared(masked))
      #expect(setting.source.status.mode?.transport == "mmap")
      #expect(setting.source.status.mode?.copyingReason == "its masks are drawn in memory")
      await setting.source.close()
      await setting.renderer.close()

      setting = try await open("\(camera.node),format=XR24,size=320x180")
      #expect(!Self.isShared(try await setting.source.frame()))
      #expect(setting.source.status.mode?.copyingReason?.contains("fourth byte") == true)
      await setting.source.close()
      await setting.renderer.close()

      // Nothing was asked for, and nothing is explained.
      setting = try await open("\(camera.node),format=YUYV,size=320x180") { $0.dmaBuffers = .off }
      #expect(!Self.isShared(try await setting.source.frame()))
      #expect(setting.source.status.mode?.copyingReason == nil)
      await setting.source.close()
      await setting.renderer.close()
    }

    @Test("a mask that is drawn into a frame in a camera's buffer leaves the buffer as it is")
    func masked() async throws {
      let setting = try await open("\(camera.node),format=YUYV,size=320x180")
      let frame = try await setting.source.frame()
      let before = frame.bytes
      let mask = PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 320, height: 180)))
      let masked = frame.masked(
        by: try MaskPlan([mask], reference: frame.format.uprightSize, format: frame.format))
      #expect(frame.bytes == before)
      #expect(masked.bytes != before)
      await setting.source.close()
      await setting.renderer.close()
    }

    // MARK: Lives

    @Test("a thousand frames leave no descriptor, no mapping and no texture behind", .timeLimit(.minutes(15)))
    func thousand() async throws {
      try await Holdings.areGone()
      let before = (try Holdings.descriptors, Self.mappings)
      let setting = try await open("\(camera.node),format=NV12,size=320x180,fps=60")
      let textures = GLLedger.living[.texture, default: 0]
      var shared = 0
      var most = 0
      for index in 0..<1000 {
        let frame = try await setting.source.frame()
        shared += Self.isShared(frame) ? 1 : 0
        let plan = try RenderPlanner(tuning: setting.renderer.tuning).plan(
          frame.format, [ViewRequest(ViewConfiguration(width: 32), as: .rgba)])
        _ = try await setting.renderer.render(frame, plan)
        if index > 10 { most = max(most, try Holdings.descriptors) }
      }
      #expect(shared == 1000)
      // Six buffers, the camera, the renderer's device.
      #expect(most - before.0 < 16)
      #expect(GLLedger.living[.texture, default: 0] - textures < 40)
      await setting.source.close()
      await setting.renderer.close()
      try await until { try Holdings.descriptors <= before.0 + 2 && Self.mappings == before.1 }
    }

    /// Mappings of buffers of vgem.
    private static var mappings: Int {
      let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
      return maps.split(separator: "\n").count { $0.contains("dmabuf") || $0.contains("/dev/dri") }
    }

    @Test("more frames are held than the camera can spare: those behind them are copied, and none is lost")
    func held() async throws {
      let setting = try await open("\(camera.node),format=YUYV,size=320x180")
      var frames: [Frame] = []
      for _ in 0..<8 { frames.append(try await setting.source.frame()) }
      #expect(frames.filter(Self.isShared).count >= 3)
      #expect(frames.filter { !Self.isShared($0) }.count >= 3)
      let bytes = frames.map(\.bytes)
      for _ in 0..<8 { _ = try await setting.source.frame() }
      #expect(frames.map(\.bytes) == bytes)
      await setting.source.close()
      // The camera's last stop does not take what is held.
      #expect(frames.map(\.bytes) == bytes)
      for frame in frames { try await Self.draw(frame, setting.renderer) }
      await setting.renderer.close()
      #expect(frames.map(\.bytes) == bytes)
    }

    private static func draw(_ frame: Frame, _ renderer: GLRenderer) async throws {
      let plan = try RenderPlanner(tuning: renderer.tuning).plan(
        frame.format, [ViewRequest(ViewConfiguration(width: 64), as: .rgba)])
      let picture = try await renderer.render(frame, plan)[0].bytes
      let expected = try await renderer.render(try copy(frame), plan)[0].bytes
      // Programs for software may round elsewhere.
      #expect(zip(picture, expected).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
    }

    @Test("an unplugged camera's frames stay, and it shares buffers again when it is back")
    func unplugged() async throws {
      let setting = try await open("\(camera.node),format=NV12,size=320x180")
      let frame = try await setting.source.frame()
      try Vivid.unplug()
      try await setting.source.reaches(.lost)
      try await Self.draw(frame, setting.renderer)
      try Vivid.plugIn()
      let next = try await setting.source.frame { Self.isShared($0) && $0.timestamp > frame.timestamp }
      try await Self.draw(next, setting.renderer)
      #expect(setting.source.status.mode?.transport == "dma-buf")
      await setting.source.close()
      await setting.renderer.close()
    }

    @Test("renderers come, close and come again while the camera streams, and no frame is wrong")
    func renderers() async throws {
      let pool = FramePool()
      let source = try await open("\(camera.node),format=YUYV,size=320x180", pool)
      #expect(!Self.isShared(try await source.frame()))
      #expect(source.status.mode?.copyingReason?.contains("no renderer") == true)

      var last: Frame?
      for _ in 0..<3 {
        let renderer = try await Self.renderer()
        await renderer.lendMemory(to: pool)
        let frame = try await source.frame(where: Self.isShared)
        try await Self.draw(frame, renderer)
        // Of another renderer's buffers: copied, since it did not make them.
        if let last { try await Self.draw(last, renderer) }
        last = frame
        await renderer.close()
        // What is still written into its buffers can be read.
        _ = try await source.frame().bytes
      }
      let after = try await source.frame { !Self.isShared($0) }
      let renderer = try await Self.renderer()
      try await Self.draw(after, renderer)
      await source.close()
      await renderer.close()
    }

    /// A renderer whose driver hangs, or that makes nothing.
    private final class Refusing: BufferSharing {
      let hangs: Bool

      init(hangs: Bool) { self.hangs = hangs }

      func makeBuffers(
        _ count: Int, of byteCount: Int, for format: Frame.Format, _ planes: [Frame.Plane]
      ) async throws -> [DMABuffer] {
        if hangs { try await Task.detached { _ = try await Promise<Bool>().value() }.value }
        throw RenderError("it makes none")
      }
    }

    @Test(
      "a renderer that comes while the camera streams, and refuses or hangs, leaves the camera with its own buffers",
      arguments: [false, true])
    func refused(hangs: Bool) async throws {
      let pool = FramePool()
      let source = try await open("\(camera.node),format=YUYV,size=320x180", pool)
      let held = try await source.frame()
      let sharing = Refusing(hangs: hangs)
      pool.sharing = sharing
      let before = source.status.counters.received
      while source.status.mode?.copyingReason?.contains(hangs ? "within" : "it makes none") != true {
        _ = try await source.frame()
      }
      for _ in 0..<5 { #expect(!Self.isShared(try await source.frame())) }
      #expect(source.status.counters.received > before)
      #expect(source.status.counters.reconnections == 0)
      _ = held.bytes
      await source.close()
      withExtendedLifetime(sharing) {}
    }

    @Test("a lost context's frames are drawn by the next renderer")
    func lost() async throws {
      let setting = try await open("\(camera.node),format=NV12,size=320x180")
      let frame = try await setting.source.frame()
      await setting.renderer.loseContext()
      await setting.renderer.close()
      let next = try await Self.renderer()
      try await Self.draw(frame, next)
      await next.lendMemory(to: setting.pool)
      let later = try await setting.source.frame { Self.isShared($0) && $0.timestamp > frame.timestamp }
      try await Self.draw(later, next)
      await setting.source.close()
      await next.close()
    }

    @Test("the replay buffer keeps copies, and gives the bytes that were shown")
    func replay() async throws {
      let buffer = ReplayBuffer(Replay(.seconds(60)), budget: MemoryBudget(capacity: 64 << 20))
      let setting = try await open("\(camera.node),format=YUYV,size=320x180") { $0.replay = buffer }
      var frames: [Frame] = []
      for _ in 0..<3 { frames.append(try await setting.source.frame()) }
      #expect(frames.contains(where: Self.isShared))
      for frame in frames { try await Self.draw(frame, setting.renderer) }
      await setting.source.close()
      await setting.renderer.close()
    }
  }
}
