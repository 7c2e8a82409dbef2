// What a V4L2 source makes of what cameras do: it says what is wrong, goes on, and gives everything back.
import Foundation
import GLPreview
import PreviewCore
import TestSupport
import Testing

extension CameraMachine {
  @Suite("V4L2 faults", .timeLimit(.minutes(15))) struct V4L2FaultTests {
    private let camera: Vivid
    private var name: String { camera.node + ",size=320x180" }

    init() throws { camera = try Vivid.camera() }

    @Test("an unplugged camera is lost, and reconnects when it is plugged in again")
    func unplugged() async throws {
      let source = try await LiveSource.camera(name)
      _ = try await source.frame()

      try Vivid.unplug()
      let lost = try await source.reaches(.lost)
      #expect(lost.reason == "was unplugged")

      try Vivid.plugIn()
      try await source.reaches(.live)
      _ = try await source.frame { $0.timestamp > lost.since }
      #expect(source.status.counters.reconnections == 1)

      await source.close()
      try await Holdings.areGone()
    }

    @Test("a camera that returns under another device number is found and reconnected")
    func renumbered() async throws {
      let source = try await LiveSource.camera(name)
      _ = try await source.frame()
      // A number is free only when nobody has what it stood for open any more.
      let keeper = try #require(FileHandle(forReadingAtPath: camera.node))

      try Vivid.unplug()
      try Vivid.plugIn()
      let moved = try #require(try Vivid.all.first)
      #expect(moved.node != camera.node)
      let plugged = CaptureClock.now
      _ = try await source.frame { $0.timestamp > plugged }
      #expect(source.status.state == .live)

      // And back again.
      try Vivid.unplug()
      try await source.reaches(.lost)
      try keeper.close()
      try Vivid.plugIn()
      let back = CaptureClock.now
      _ = try await source.frame { $0.timestamp > back }

      await source.close()
      try await Holdings.areGone()
    }

    @Test("a camera whose calls fail with ENODEV is lost and then reopened")
    func disconnected() async throws {
      let source = try await LiveSource.camera(name)
      _ = try await source.frame()
      try camera.inject(.disconnect)
      let lost = try await source.reaches(.lost)
      #expect(lost.reason == "was unplugged")
      _ = try await source.frame { $0.timestamp > lost.since }
      await source.close()
      try await Holdings.areGone()
    }

    @Test("a buffer with an error counts as a damaged frame, and the stream continues")
    func damaged() async throws {
      let source = try await LiveSource.camera(name, delivery: .every(maximumBytes: 64 << 20))
      _ = try await source.frame()

      for count in 1...3 {
        try camera.inject(.damagedBuffer)
        _ = try await source.frame { _ in source.status.counters.damaged == count }
      }

      #expect(source.status.state == .live)
      #expect(source.status.counters.reconnections == 0)
      await source.close()
    }

    @Test("a source reconnects after a fatal stream error")
    func fatal() async throws {
      let source = try await LiveSource.camera(name)
      _ = try await source.frame()
      try camera.inject(.fatalStreamError)
      let lost = try await source.reaches(.lost)
      _ = try await source.frame { $0.timestamp > lost.since }
      #expect(source.status.counters.reconnections == 1)
      await source.close()
    }

    @Test(
      "a source goes live although the driver fails one REQBUFS, QBUF or STREAMON call",
      arguments: [Vivid.Fault.failingRequestOfBuffers, .failingQueue, .failingStart])
    func refused(fault: Vivid.Fault) async throws {
      try camera.inject(fault)
      let source = try await LiveSource.camera(name)
      _ = try await source.frame()
      #expect(source.status.state == .live)
      await source.close()
      try await Holdings.areGone()
    }

    @Test("a matrix or range change in mid-stream applies to the frames without a reconnect")
    func recoloured() async throws {
      let source = try await LiveSource.camera(name + ",format=YUYV")
      #expect(try await source.frame().format.color.matrix == .bt601)
      try camera.set("y_cbcr_encoding", VividColour.Encoding.rec709.rawValue)
      _ = try await source.frame { $0.format.color.matrix == .bt709 }
      try camera.set("quantization", VividColour.Quantization.full.rawValue)
      _ = try await source.frame { $0.format.color.range == .full }
      #expect(source.status.counters.reconnections == 0)
      await source.close()
    }

    @Test("a busy camera's error names the process that uses it, and a source connects once it is free")
    func busy() async throws {
      // To a file: nobody has to read it.
      let log = FileManager.default.temporaryDirectory.appending(
        path: "v4l2-ctl.\(UInt32.random(in: 0...UInt32.max))")
      try #require(FileManager.default.createFile(atPath: log.path, contents: nil))
      defer { try? FileManager.default.removeItem(at: log) }
      let other = Process()
      other.executableURL = URL(filePath: "/usr/bin/env")
      other.arguments = ["v4l2-ctl", "-d", camera.node, "--stream-mmap"]
      other.standardInput = FileHandle.nullDevice
      other.standardOutput = FileHandle.nullDevice
      other.standardError = try FileHandle(forWritingTo: log)
      try other.run()
      // It writes a `<` for every picture; then it streams.
      try await until { try Data(contentsOf: log).contains(UInt8(ascii: "<")) || !other.isRunning }

      let error = try await refusal(of: name)
      #expect(error.kind == .unavailable)
      #expect(error.reason == "is in use by 'v4l2-ctl' (process \(other.processIdentifier))")

      let source = try await LiveSource.camera(name)
      try await source.reaches(.lost)
      // Programs that are started from a thread of Dispatch's hear no gentler signal: it blocks them.
      kill(other.processIdentifier, SIGKILL)
      _ = try await source.frame()
      await source.close()
      try await Holdings.areGone()
    }

    @Test("a camera without read permission is unreadable, and the error names the group 'video'")
    func permission() async throws {
      try runProgram("chmod", "600", camera.node)
      try #require(seteuid(65534) == 0)
      let error = try? await refusal(of: name)
      try #require(seteuid(0) == 0)
      #expect(error?.kind == .unreadable)
      #expect(error?.reason.contains("'video'") == true, "\(String(describing: error))")
    }

    @Test("a missing camera's error lists the present ones, and a source connects once it appears")
    func missing() async throws {
      let error = try await refusal(of: "/dev/video77")
      #expect(error.kind == .notFound)
      #expect(error.reason.contains(camera.node), "\(error)")

      try Vivid.unplug()
      #expect(try await refusal(of: name).reason.contains("this machine has no cameras"))

      let source = try await LiveSource.camera(name)
      try await source.reaches(.lost)
      try Vivid.plugIn()
      _ = try await source.frame()
      await source.close()
    }

    @Test("video nodes that are not cameras are rejected with a reason and are not listed")
    func noCamera() async throws {
      // A capture node, one that shows pictures, one that gives metadata (vivid.rst, "node_types").
      try await Vivid.with(nodes: 0x20101) { camera in
        let nodes = try FileManager.default.contentsOfDirectory(atPath: "/sys/class/video4linux")
        #expect(nodes.count == 3)
        for node in nodes where "/dev/\(node)" != camera.node {
          let error = try await refusal(of: "/dev/\(node)")
          #expect(error.kind == .badRequest)
          #expect(error.reason.hasPrefix("is not a camera: it "), "\(error)")
          #expect(error.reason.contains(camera.node))
        }
        #expect(await V4L2Camera.all().map(\.node) == [camera.node])
      }
    }

    @Test("new HDMI timings resize frames without a reconnect; a camera without a signal is lost")
    func otherSignal() async throws {
      // One HDMI input.
      try await Vivid.with(inputs: 3) { camera in
        let source = try await LiveSource.camera(camera.node)
        let before = try await source.frame().format.size
        #expect(before != Size(width: 640, height: 480))

        // The first of its timings, 640x480; 4 is "Selected DV Timings" (vivid.rst).
        try camera.set("dv_timings_signal_mode", 4)
        try camera.set("dv_timings", 0)
        let after = try await source.frame { $0.format.size != before }
        #expect(after.format.size == Size(width: 640, height: 480))
        #expect(source.status.mode?.size == after.format.size)
        #expect(source.status.counters.reconnections == 0)

        // 1 is "No Signal", 0 "Current DV Timings".
        try camera.set("dv_timings_signal_mode", 1)
        #expect(try await source.reaches(.lost).reason == "has no signal")
        try camera.set("dv_timings_signal_mode", 0)
        try await source.reaches(.live)
        await source.close()
      }
    }

    @Test("closing a source in any state releases all descriptors and mappings")
    func closing() async throws {
      let descriptors = try Holdings.descriptors

      // Live, with a frame that is still held.
      var source = try await LiveSource.camera(name)
      let held = try await source.frame()
      await source.close()
      try await Holdings.areGone()
      #expect(held.format.size.width == 320)
      #expect(try await source.nextFrame() == nil)

      // Opening.
      source = try await LiveSource.camera(name)
      await source.close()
      try await Holdings.areGone()

      // Waiting for a frame.
      source = try await LiveSource.camera(name + ",fps=1")
      _ = try await source.frame()
      let waiting = Task { [source] in try await source.nextFrame() }
      await source.close()
      #expect(try await waiting.value == nil)
      try await Holdings.areGone()

      // Lost.
      source = try await LiveSource.camera(name)
      _ = try await source.frame()
      try Vivid.unplug()
      try await source.reaches(.lost)
      await source.close()
      try await Holdings.areGone()

      try Vivid.plugIn()
      #expect(try Holdings.descriptors <= descriptors)
    }

    @Test("a deallocated LiveSource ends its status stream and releases the camera")
    func dropped() async throws {
      var source: LiveSource? = try await LiveSource.camera(name)
      let statuses = try #require(source?.statuses)
      _ = try await source?.frame()

      source = nil
      for await _ in statuses {}

      // Who opens it next finds it free.
      let next = try await LiveSource.camera(name)
      _ = try await next.frame()
      await next.close()
    }
  }
}

extension CameraMachine {
  @Suite("V4L2 endurance", .timeLimit(.minutes(15))) struct V4L2EnduranceTests {
    /// 12 unless GLPREVIEW_REPLUG_ROUNDS says another number.
    private static let rounds =
      ProcessInfo.processInfo.environment["GLPREVIEW_REPLUG_ROUNDS"].flatMap { Int($0) } ?? 12

    @Test("memory, descriptors and threads do not grow when a camera is replugged repeatedly")
    func replugged() async throws {
      let camera = try Vivid.camera()
      let source = try await LiveSource.camera(camera.node + ",size=320x180")
      _ = try await source.frame()
      var memory: [Int] = []
      var descriptors: [Int] = []
      var threads: [Int] = []

      for _ in 0..<Self.rounds {
        try Vivid.unplug()
        let lost = try await source.reaches(.lost)
        try Vivid.plugIn()
        _ = try await source.frame { $0.timestamp > lost.since }
        memory.append(try Holdings.memory)
        descriptors.append(try Holdings.descriptors)
        threads.append(try Holdings.threads)
        #expect(try Holdings.cameras == 1)
      }

      #expect(source.status.counters.reconnections == Self.rounds)
      await source.close()
      try await Holdings.areGone()

      // The first rounds fill caches and pools, and a pool may grow by a step later. A leak is there in each round: one
      // 320x180 picture is 86 KB.
      let warm = Self.rounds / 3
      let growths = zip(memory.dropFirst(warm + 1), memory.dropFirst(warm)).map { $0 - $1 }.sorted()
      #expect(growths[growths.count / 2] < 43, "\(memory)")
      #expect(Set(descriptors.dropFirst(warm)).count == 1, "\(descriptors)")
      // Dispatch keeps some at hand, now more, now fewer; a leak would be one a round.
      #expect(try #require(threads.last) - threads[warm] < Self.rounds - warm - 1, "\(threads)")
    }
  }
}
