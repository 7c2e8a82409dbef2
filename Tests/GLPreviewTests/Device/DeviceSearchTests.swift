// Machines that are not here, played: which of their devices is taken, and what their users read.
import Glibc
import TestSupport
import Testing

@testable import GLPreview

private func candidate(_ index: Int, _ platform: DisplayPlatform, software: Bool = false) -> DeviceCandidate {
  let node: String? =
    switch platform {
    case .device(let index): software ? nil : "/dev/dri/renderD\(128 + index)"
    case .gbm(let node): node
    case .surfaceless: nil
    }
  return DeviceCandidate(index: index, platform: platform, drmNode: node, isMarkedSoftware: software)
}

/// A machine whose candidates have renderers; those without fail.
private struct Machine {
  var candidates: [DeviceCandidate]
  var renderers: [Int: String] = [:]
  var host = facts()

  func search() -> DeviceSearch {
    DeviceSearch(candidates: candidates, host: host) { candidate in
      guard let renderer = renderers[candidate.index] else {
        return GPUDevice(candidate, .fails(reason: "eglInitialize: EGL_NOT_INITIALIZED"))
      }
      let driver = GPUDevice.Driver(
        name: "driver", vendor: "Vendor", renderer: renderer, version: GLVersion(3, 2),
        versionText: "OpenGL ES 3.2 Driver 1.0", maximumTextureSize: 16384)
      return GPUDevice(candidate, .works(driver))
    }
  }
}

private func facts(
  nodes: [HostFacts.RenderNode] = [], hasEGLDriver: Bool = true, vendorFiles: [String] = ["50_mesa.json"],
  nvidia: Bool = false, container: Bool = false, variables: [String: String] = [:]
) -> HostFacts {
  HostFacts(
    renderNodes: nodes, hasEGLDriver: hasEGLDriver, vendorFiles: vendorFiles, hasNVIDIADevice: nvidia,
    isContainer: container, variables: variables)
}

/// EGL lists software before hardware, the GPU can also be had by its file, and the default is the GPU once more.
private let desktop = Machine(
  candidates: [
    candidate(0, .device(0), software: true), candidate(1, .device(1)),
    candidate(2, .gbm(node: "/dev/dri/renderD129")),
    candidate(3, .surfaceless),
  ],
  renderers: [0: "llvmpipe", 1: "Mesa Intel", 2: "Mesa Intel", 3: "Mesa Intel"])

@Suite struct DeviceSearchTests {
  @Test("automatic choice prefers hardware to software whatever the order of the list")
  func hardwareFirst() throws { #expect(try desktop.search().choose(.automatic).index == 1) }

  @Test("a GPU that fails through EGL's device list is opened through its device node")
  func gbmNext() throws {
    var machine = desktop
    machine.renderers[1] = nil
    #expect(try machine.search().choose(.automatic).index == 2)
    #expect(try machine.search().choose(.node("/dev/dri/renderD129")).index == 2)
  }

  @Test("without working hardware EGL's software device is preferred to a software default display")
  func softwareLast() throws {
    var machine = desktop
    machine.renderers = [0: "llvmpipe", 3: "llvmpipe"]
    #expect(try machine.search().choose(.automatic).index == 0)
    machine.renderers = [3: "llvmpipe"]
    #expect(try machine.search().choose(.automatic).index == 3)
  }

  @Test("only the first device is probed if no candidate may be hardware")
  func softwareOnly() throws {
    var tried: [Int] = []
    let machine = Machine(
      candidates: [candidate(0, .device(0), software: true), candidate(1, .surfaceless)],
      renderers: [0: "llvmpipe", 1: "llvmpipe"])
    let search = machine.search()
    let counting = DeviceSearch(candidates: search.candidates, host: search.host) {
      tried.append($0.index)
      return search.probe($0)
    }

    #expect(try counting.choose(.automatic).index == 0)
    #expect(tried == [0])
  }

  @Test("a device is listed once, through the first platform that works")
  func listedOnce() {
    #expect(desktop.search().list().map(\.index) == [0, 1])
    var machine = desktop
    machine.renderers[1] = nil
    #expect(machine.search().list().map(\.index) == [0, 1, 2])
  }

  @Test("a device node is not probed if EGL's device for it renders in software")
  func softwareNode() throws {
    var tried: [Int] = []
    let machine = Machine(
      candidates: [
        candidate(0, .device(0)), candidate(1, .device(1), software: true),
        candidate(2, .gbm(node: "/dev/dri/renderD128")), candidate(3, .surfaceless),
      ],
      renderers: [0: "llvmpipe", 1: "llvmpipe", 2: "llvmpipe", 3: "llvmpipe"])
    let search = machine.search()
    let counting = DeviceSearch(candidates: search.candidates, host: search.host) {
      tried.append($0.index)
      return search.probe($0)
    }

    #expect(try counting.choose(.node("/dev/dri/renderD128")).index == 0)
    #expect(tried == [0])

    tried = []
    #expect(try counting.choose(.automatic).index == 1)
    #expect(tried == [0, 3, 1])
  }

  @Test("the error for a device node that is not a GPU lists this machine's render nodes")
  func otherNode() throws {
    var machine = desktop
    machine.host = facts(nodes: [HostFacts.RenderNode(path: "/dev/dri/renderD129", status: 0)])
    let error = try #require(throws: DeviceError.self) {
      try machine.search().choose(.node("/dev/dri/renderD130"))
    }
    #expect(error.hints == ["this machine has /dev/dri/renderD129"])
  }

  @Test("a request for software fails without a software renderer instead of using hardware")
  func noSoftware() throws {
    var machine = desktop
    machine.renderers[0] = nil
    let error = try #require(throws: DeviceError.self) { try machine.search().choose(.software) }
    #expect(error.problem == "no software renderer")
    #expect(error.hints.contains("software rendering needs libegl-mesa0 and libgl1-mesa-dri"))
  }

  @Test("an index that is not in the list is rejected with the valid indices")
  func indexBounds() throws {
    let error = try #require(throws: DeviceError.self) { try desktop.search().choose(.index(4)) }
    #expect(error.description == "no GPU 4: the devices of this machine are 0, 1")
  }

  @Test("the error lists every attempt and hint, and its description is one line")
  func errorText() throws {
    var machine = desktop
    machine.renderers = [:]
    machine.host = facts(nodes: [HostFacts.RenderNode(path: "/dev/dri/renderD129", status: EACCES)])

    let error = try #require(throws: DeviceError.self) { try machine.search().choose(.automatic) }

    #expect(!error.description.contains("\n"))
    #expect(
      error.details == """
        no usable GPU
        tried:
          EGL device 1 (/dev/dri/renderD129): eglInitialize: EGL_NOT_INITIALIZED
          GBM on /dev/dri/renderD129: eglInitialize: EGL_NOT_INITIALIZED
          EGL's default without a surface: eglInitialize: EGL_NOT_INITIALIZED
          EGL device 0: eglInitialize: EGL_NOT_INITIALIZED
        what may help:
          - no permission to open /dev/dri/renderD129: join its group, render (video on older systems); for a container, --group-add
          - software rendering needs libegl-mesa0 and libgl1-mesa-dri
        """)
  }

  @Test(
    "the first hint matches the state of the machine",
    arguments: [
      (facts(hasEGLDriver: false, vendorFiles: []), "install libegl-mesa0"),
      (facts(hasEGLDriver: false), "50_mesa.json"),
      (facts(nvidia: true), "NVIDIA_DRIVER_CAPABILITIES=graphics"),
      (facts(container: true), "--device /dev/dri"),
      (facts(), "no render node in /dev/dri"),
      (
        facts(nodes: [HostFacts.RenderNode(path: "/dev/dri/renderD128", status: EACCES)]),
        "join its group, render"
      ),
      (facts(variables: ["LIBGL_DRIVERS_PATH": "/x"]), "unset LIBGL_DRIVERS_PATH"),
      (facts(variables: ["GALLIUM_DRIVER": "x"]), "unset GALLIUM_DRIVER"),
    ])
  func firstHint(host: HostFacts, hint: String) { #expect(host.hints.first?.contains(hint) == true) }

  @Test(
    "without EGL vendor libraries choosing a device fails with EGL's reason and a hint", .oneProcessAtATime)
  func noVendor() async {
    await #expect(processExitsWith: .success) {
      unsafe setenv("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent", 1)
      let error = try await #require(throws: DeviceError.self) { try await GPUDevice.chooseForGL() }
      #expect(error.description.contains("unset __EGL_VENDOR_LIBRARY_FILENAMES"))
      #expect(
        error.attempts.map(\.reason).contains {
          $0.contains("EGL_MESA_platform_surfaceless is not supported")
        })
      #expect(await GPUDevice.list().dropFirst().allSatisfy { $0.driver == nil })
      #expect(try await GPUDevice.choose(.cpu) == .cpu)
    }
  }

  @Test("if the driver can't be loaded the error has EGL's reason and a hint", .oneProcessAtATime)
  func noDriver() async {
    await #expect(processExitsWith: .success) {
      unsafe setenv("LIBGL_DRIVERS_PATH", "/nonexistent", 1)
      // A machine with another vendor's driver still has a GPU, and that is right too.
      do throws(DeviceError) { _ = try await GPUDevice.chooseForGL() } catch {
        #expect(error.hints.contains { $0.contains("unset LIBGL_DRIVERS_PATH") })
        #expect(error.attempts.contains { $0.reason.contains("EGL_NOT_INITIALIZED") })
        #expect(GLLedger.living == [:])
      }
    }
  }
}
