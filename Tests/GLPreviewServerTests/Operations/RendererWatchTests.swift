// Ready means able: what a service says of a renderer that is not there, and that it mends itself.
import Synchronization
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceFoundation

@Suite("The service's renderer", .timeLimit(.minutes(15)))
struct RendererWatchTests {
  /// A machine whose device can be taken away and given back.
  private final class Machine: Sendable {
    let isThere: Mutex<Bool>
    let tries = Atomic<Int>(0)

    init(isThere: Bool) { self.isThere = Mutex(isThere) }

    static let failure = DeviceError(problem: "no usable GPU", attempts: [], hints: ["plug one in"])

    var options: PreviewSession.Options {
      var options = PreviewSession.Options()
      options.renderers = SharedRenderers(keepsFor: .zero) { choice in
        self.tries.add(1, ordering: .relaxed)
        guard self.isThere.withLock({ $0 }) else { throw Self.failure }
        return try await GLRenderer.open(choice)
      }
      return options
    }
  }

  private struct Health: Decodable {
    let status: String
    let renderer: String?
  }

  private struct Cameras: Decodable {
    struct Device: Decodable {
      let name: String
    }
    let device: Device?
    let device_failure: String?
  }

  @Test("a missing GPU is reported in the log, /readyz and /api/cameras until a renderer opens")
  func mends() async throws {
    let machine = Machine(isThere: false)
    let records = LogRecords()

    try await withService(StreamTests.configuration(), options: machine.options, logger: records.logger) {
      service in
      // The picture is what says so first, however long the watch takes.
      #expect(try await service.get("/cameras/camera/main.jpg").status == 503)
      await until { machine.tries.load(ordering: .relaxed) != 0 }
      await until { service.inside.renderer.state.failure == "\(Machine.failure)" }

      let answer = try await service.get("/readyz")
      #expect(answer.status == 503)
      #expect(try answer.json(Health.self).renderer == "no usable GPU: plug one in")
      let cameras = try await service.get("/api/cameras").json(Cameras.self)
      #expect(cameras.device == nil && cameras.device_failure == "no usable GPU: plug one in")
      #expect(try await service.get("/healthz").status == 200)

      machine.isThere.withLock { $0 = true }
      try await until { try await service.get("/readyz").status == 200 }
      #expect(try await service.get("/cameras/camera/main.jpg").status == 200)
      let mended = try await service.get("/api/cameras").json(Cameras.self)
      #expect(mended.device != nil && mended.device_failure == nil)
    }

    let told = records.messages.filter { $0.contains("renderer") }
    #expect(told.count == 2)
    #expect(told.first?.hasPrefix("renderer failed") == true && told.last == "renderer available again")
  }

  @Test("the renderer opens before any request, and counts as not ready while it opens")
  func opens() async throws {
    let machine = Machine(isThere: true)
    try await withService(StreamTests.configuration(), options: machine.options) { service in
      await until { service.inside.renderer.state.failure == nil }
      #expect(machine.tries.load(ordering: .relaxed) == 1)
    }
    #expect(RendererWatch.State.opening.failure == "the renderer is opening")
  }

  @Test("a GPU that the CPU stands in for is reported with its reason, and so is its return")
  func standsIn() async throws {
    let records = LogRecords()
    let reason = Mutex<String?>("the context is lost")
    let (states, told) = AsyncStream.makeStream(of: RendererWatch.State.self)
    let watch = RendererWatch(
      requiresHardware: false, logger: records.logger, device: { .cpu },
      deviceFailure: { reason.withLock { $0 } }, isNeeded: { true }, onChange: { told.yield($0) })

    let running = Task { try await watch.run() }
    for await state in states {
      guard state.problem != nil else {
        #expect(state.event == "renderer-works")
        break
      }
      #expect(state.failure == nil && state.device == .cpu && state.event == "renderer-stands-in")
      #expect(state.problem?.contains("the context is lost") == true)
      reason.withLock { $0 = nil }
    }
    running.cancel()
    _ = await running.result
    #expect(
      records.messages.filter { $0.hasPrefix("renderer") } == [
        "renderer failed: the CPU draws until it works again, which is tried", "renderer available again",
      ])
  }

  @Test("the log says why the CPU draws although there is a GPU's device file")
  func passedOver() async throws {
    let records = LogRecords()
    let device = GPUDevice(passingOver: "no GPU that works: install a driver")
    let (states, told) = AsyncStream.makeStream(of: RendererWatch.State.self)
    let watch = RendererWatch(
      requiresHardware: false, logger: records.logger, device: { device }, isNeeded: { true },
      onChange: { told.yield($0) })

    let running = Task { try await watch.run() }
    for await state in states {
      #expect(state.problem == nil && state.device?.kind == .cpu && state.event == "renderer-works")
      break
    }
    running.cancel()
    _ = await running.result
    let line = records.lines.first { $0.hasPrefix("renderer available:") }
    #expect(line?.contains("passed_over=no GPU that works: install a driver") == true)
  }

  @Test("a software renderer is reported as a failure if hardware is required")
  func software() async throws {
    let records = LogRecords()
    let renderer = try await GLRenderer.open(.software)
    let device = renderer.device
    await renderer.close()
    let (states, told) = AsyncStream.makeStream(of: RendererWatch.State.self)
    let watch = RendererWatch(
      requiresHardware: true, logger: records.logger, device: { device }, isNeeded: { true },
      onChange: { told.yield($0) })

    let running = Task { try await watch.run() }
    for await state in states {
      #expect(state.failure?.contains("hardware is required") == true)
      break
    }

    running.cancel()
    _ = await running.result
  }
}
