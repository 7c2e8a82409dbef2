import Glibc
import Synchronization
import Testing

@testable import GLPreview

@Suite struct GPUDeviceTests {
  @Test("the device list is not empty, and each device has driver details or a failure reason")
  func list() async {
    let devices = await GPUDevice.list()
    #expect(!devices.isEmpty)
    for device in devices {
      switch device.status {
      case .works(let driver):
        #expect(driver.version >= GLVersion(3, 0) || device.kind == .cpu)
        #expect(driver.maximumTextureSize >= 2048)
        #expect(!driver.renderer.isEmpty && !driver.vendor.isEmpty && !driver.name.isEmpty)
        #expect(device.isSoftware || !GPUDevice.isSoftware(renderer: driver.renderer))
      case .fails(let reason): #expect(!reason.isEmpty)
      }
    }
  }

  @Test("the automatically chosen device works, and choosing its index returns the same device")
  func choose() async throws {
    let device = try await GPUDevice.chooseForGL(.automatic)
    #expect(device.driver != nil)
    #expect(try await GPUDevice.chooseForGL(.index(device.index)) == device)
  }

  @Test(
    "software renders directly, hardware through buffers with timer queries",
    arguments: [("llvmpipe (LLVM 15.0.6, 256 bits)", GLVersion(3, 2)), ("V3D 7.1", GLVersion(3, 1))])
  func tuning(renderer: String, version: GLVersion) {
    let device = GPUDevice(
      DeviceCandidate(index: 0, platform: .surfaceless, drmNode: nil, isMarkedSoftware: false),
      .works(
        GPUDevice.Driver(
          name: "driver", vendor: "Vendor", renderer: renderer, version: version, versionText: "",
          maximumTextureSize: 4096)))

    let tuning = device.tuning

    #expect(tuning.maximumTargetSide == 4096)
    #expect(tuning.boxes == (device.isSoftware ? .words : .texels))
    #expect(tuning.transfer == (device.isSoftware ? .direct : .buffered(framesInFlight: 3)))
    #expect(tuning.framesInFlight == (device.isSoftware ? 1 : 3))
    #expect(tuning.timesPasses != device.isSoftware)
    #expect(tuning.discardsTargets == renderer.hasPrefix("V3D"))
    #expect(device.isSoftware == renderer.hasPrefix("llvmpipe"))
  }

  @Test("a background renderer uses the same driver, and on software a display of its own")
  func background() async throws {
    let device = try await GPUDevice.chooseForGL()
    guard let renderer = try await GLRenderer.openInBackground(on: device, shared: true) else {
      #expect(device.isSoftware && device.platform == .surfaceless, "there is no other display")
      return
    }
    #expect(renderer.device.driver?.renderer == device.driver?.renderer)
    #expect((renderer.device.platform != device.platform) == device.isSoftware)
    await renderer.close()
  }

  @Test("no background renderer opens on a software display that is already in use")
  func occupiedBackground() async throws {
    let device = try await GPUDevice.chooseForGL(.llvmpipe)
    let display = try GPUDisplay.open(.surfaceless)
    guard display.turn != nil else { return }  // It is hardware's.

    let other = try await TestContext(.surfaceless, on: display)
    let renderer = try await GLRenderer.openInBackground(on: device)

    #expect(renderer == nil)
    #expect(await other.end() == [:])
  }

  @Test("contexts on one software display never run at the same time")
  func turns() async throws {
    let device = try await GPUDevice.chooseForGL(.software)
    let platform = try #require(device.platform)
    let display = try GPUDisplay.open(platform)
    let contexts = [
      try await TestContext(platform, on: display),
      try await TestContext(platform, on: display),
      try await TestContext(platform, on: display),
    ]
    let overlap = Overlap()
    await withTaskGroup { group in
      for context in contexts {
        group.addTask { for _ in 0..<50 { await context.perform { overlap.count() } } }
      }
    }
    #expect(overlap.most.load(ordering: .relaxed) == 1)
    for context in contexts { #expect(await context.end() == [:]) }
  }

  /// How many threads are at one place at once.
  private final class Overlap: Sendable {
    private let inside = Atomic(0)
    let most = Atomic(0)

    func count() {
      most.max(inside.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
      for _ in 0..<100 { sched_yield() }
      inside.subtract(1, ordering: .relaxed)
    }
  }

  @Test("choosing software for OpenGL returns a software device")
  func chooseSoftware() async throws {
    #expect(try await GPUDevice.chooseForGL(.llvmpipe).isSoftware)
    #expect(try await GPUDevice.chooseForGL(.software).isSoftware)
  }

  @Test("the CPU is the first of the list, and the choice where there is no hardware")
  func cpu() async throws {
    #expect(await GPUDevice.list().first == .cpu)
    #expect(try await GPUDevice.choose(.cpu) == .cpu)
    #expect(try await GPUDevice.choose(.software) == .cpu)
    let chosen = try await GPUDevice.choose()
    #expect(chosen.kind == .cpu || !chosen.isSoftware)
    #expect(chosen.passedOver == nil || chosen.kind == .cpu && HostFacts.hasGPUFile)
    if chosen.kind == .cpu {
      await #expect(throws: DeviceError.self) { try await GPUDevice.choose(.hardware) }
    }
    #expect(GPUDevice.cpu.description.hasPrefix("CPU ("))
  }

  @Test(
    "a device node that is missing or not a GPU is rejected with its path",
    arguments: ["/dev/no-gpu", "/dev/null"])
  func chooseNode(path: String) async throws {
    let error = try await #require(throws: DeviceError.self) {
      try await GPUDevice.chooseForGL(.node(path))
    }
    #expect(error.problem == "no usable GPU at \(path)")
    #expect(error.attempts.map(\.place) == ["GBM on \(path)"])
  }

  @Test("probing all devices leaves no OpenGL objects behind")
  func probe() async throws {
    let thread = try ProbeThread()
    #expect(await thread.leftovers() == [:])
  }

  @Test("probing a device for drawing leaves one context, which only its own display can take over")
  func probeForDrawing() async throws {
    let thread = try ProbeThread()
    for (tried, taken) in await thread.handedOver() {
      #expect(tried == [.context: 1])
      #expect(taken == [:])
    }
    #expect(await thread.leftovers() == [:])
  }

  private actor ProbeThread {
    private let thread: GPUThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }
    init() throws { thread = try GPUThread(named: "gpu-test") }

    func leftovers() -> [GLLedger.Kind: Int] {
      _ = DeviceSearch.ofThisMachine(DeviceProbe.probe).list()
      return GLLedger.livingOnThisThread
    }

    /// What lives after each device that works was tried, and after another one's display took up what was left.
    func handedOver() -> [([GLLedger.Kind: Int], [GLLedger.Kind: Int])] {
      let working = DeviceCandidate.all(renderNodes: []).filter { DeviceProbe.probe($0).driver != nil }
      return zip(working, working.dropFirst() + working.prefix(1)).map { candidate, other in
        // The one before it ends, though nobody has taken it up.
        for each in working { _ = DeviceProbe.probeForDrawing(each) }
        _ = DeviceProbe.probeForDrawing(candidate)
        let tried = GLLedger.livingOnThisThread
        if let display = try? GPUDisplay.open(other.platform), let parked = GLContext.parked(on: [display]) {
          // Software's second context is on the default display, whose candidate may take it too.
          let displays = (try? GPUDisplay.usedForContexts(on: candidate.platform)) ?? []
          #expect(
            displays.contains { unsafe $0.handle == display.handle },
            "\(other) took up the context of \(candidate)")
          _ = consume parked
        }
        return (tried, GLLedger.livingOnThisThread)
      }
    }
  }

  @Test("every working device can have two contexts at once with the same capabilities")
  func everyWay() async throws {
    for device in await GPUDevice.list() where device.driver != nil {
      guard let platform = device.platform else { continue }
      let first = try await TestContext(platform)
      let second = try await TestContext(platform)
      let capabilities = await (first.perform { GLCapabilities() }, second.perform { GLCapabilities() })
      #expect(capabilities.0 == capabilities.1)
      #expect(await first.end() == [:])
      #expect(await second.end() == [:])
    }
  }

  @Test(
    "a context renders without surfaceless, no-config or create-context EGL extensions",
    arguments: [
      ["EGL_KHR_surfaceless_context"], ["EGL_KHR_no_config_context", "EGL_MESA_configless_context"],
      ["EGL_KHR_surfaceless_context", "EGL_KHR_no_config_context", "EGL_MESA_configless_context"],
      ["EGL_KHR_create_context"],
    ] as [Set<Substring>])
  func olderDriver(lacking: Set<Substring>) async throws {
    let context = try await TestContext(chosenPlatform(), lacking: lacking)

    let pixel = try await context.perform {
      let target = try RenderTarget(Texture(.rgba8, width: 1, height: 1))
      target.clear([0, 0, 1, 1])
      var pixel = [UInt8](repeating: 0, count: 4)
      try target.read(into: &pixel)
      return pixel
    }

    #expect(pixel == [0, 0, 255, 255])
    #expect(await context.end() == [:])
  }

  @Test(
    "--gpu parses every accepted value and formats it back",
    arguments: [
      ("auto", GPUDevice.Choice.automatic), ("hardware", .hardware), ("cpu", .cpu), ("llvmpipe", .llvmpipe),
      ("0", .index(0)), ("12", .index(12)),
      ("/dev/dri/renderD128", .node("/dev/dri/renderD128")),
    ])
  func words(text: String, choice: GPUDevice.Choice) {
    #expect(GPUDevice.Choice(text) == choice)
    #expect(choice.description == text)
  }

  @Test("`--gpu software` is the CPU")
  func software() { #expect(GPUDevice.Choice("software") == .cpu && GPUDevice.Choice.software == .cpu) }

  @Test("--gpu rejects invalid values", arguments: ["", "-1", "Auto", "gpu0", "1.5", "dev/dri"])
  func noWords(text: String) { #expect(GPUDevice.Choice(text) == nil) }

  @Test(
    "a software renderer is recognized by its name, also inside another renderer's name",
    arguments: [
      "llvmpipe (LLVM 15.0.6, 256 bits)", "softpipe", "Software Rasterizer", "SWR (LLVM 10, 256 bits)",
      "ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (LLVM 10.0.0)), SwiftShader driver)",
      "zink Vulkan 1.3(llvmpipe (LLVM 17.0.6, 256 bits) (MESA_LLVMPIPE))",
      "virgl (LLVMPIPE (LLVM 12.0.0, 256 bits))",
    ])
  func software(renderer: String) { #expect(GPUDevice.isSoftware(renderer: renderer)) }

  @Test(
    "a hardware renderer is not mistaken for software",
    arguments: [
      "Mesa Intel(R) UHD Graphics 620 (KBL GT2)", "V3D 4.2", "NVIDIA H100 80GB HBM3/PCIe",
      "Mali-G52 (Panfrost)",
      "AMD Radeon RX 6600 (radeonsi, navi23, LLVM 15.0.6, DRM 3.49)", "SVGA3D; build: RELEASE;  LLVM;",
    ])
  func hardware(renderer: String) { #expect(!GPUDevice.isSoftware(renderer: renderer)) }
}
