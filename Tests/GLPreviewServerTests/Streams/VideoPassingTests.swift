// A camera's own H.264 through the service: from an RTSP server to clients, as it came.
#if FFmpeg
  import PreviewCore
  import Synchronization
  import TestSupport
  import Testing

  @testable import GLPreview
  @testable import GLPreviewServer
  @testable import RTSP
  @testable import ServiceCore

  @Suite(
    "H.264 passthrough", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
    .timeLimit(.minutes(15)))
  struct VideoPassingTests {
    /// Runs `work` with a service that is a camera, and one that has it as a camera.
    private static func withCamera(
      keyframe: Duration = .seconds(1), log: LogRecords = LogRecords(),
      _ change: @escaping @Sendable (inout CameraConfiguration) -> Void = { _ in },
      _ work: @escaping @Sendable (RunningService, RunningService) async throws -> Void
    ) async throws {
      var view = ServedView()
      view.video = VideoConfiguration(keyframeInterval: keyframe, encoder: software)
      var configuration = ServerConfiguration(
        cameras: [CameraConfiguration(source: "pattern:counter,size=320x180,fps=20", views: [view])])
      configuration.rtsp.listen = .at(host: "127.0.0.1", port: 0)
      try await withService(configuration) { camera in
        await until { camera.inside.rtsp.port != nil }
        let port = try #require(camera.inside.rtsp.port)
        var source = CameraConfiguration(
          source: "rtsp://127.0.0.1:\(port)/camera/main", views: [ServedView()])
        source.options.live = LiveOptions(
          stallsAfter: allTheTimeThereIs, reconnectsAfter: allTheTimeThereIs,
          connectsWithin: allTheTimeThereIs)
        // A required camera without pictures is looked at again and again.
        source.isRequired = false
        change(&source)
        var configuration = ServerConfiguration(cameras: [source])
        configuration.rtsp.listen = .at(host: "127.0.0.1", port: 0)
        try await withService(configuration, logger: log.logger) { service in
          try await work(camera, service)
        }
      }
    }

    private static func watch(
      _ service: RunningService, passes: Bool = true
    ) throws -> VideoStream {
      let target = try service.inside.registry.view(nil, of: nil)
      return try service.inside.videos.begin(
        target, as: target.served, target.served.video, passes: passes)
    }

    @Test("a camera's H.264 is passed through unchanged, without decoding, rendering or encoding")
    func passing() async throws {
      try await Self.withCamera { camera, service in
        // The camera's own watcher may lose some, as this one may.
        let own = try Self.watch(camera)
        let encoded = Watched<Set<[UInt8]>>([])
        let reading = Task {
          while let sample = try await own.next() { encoded.withLock { _ = $0.insert(sample.bytes) } }
        }
        defer { reading.cancel() }
        let passed = try Self.watch(service)
        var (samples, last): ([VideoSample], CaptureInstant?) = ([], nil)
        while samples.count(where: { sample in encoded.withLock { $0.contains(sample.bytes) } }) < 10 {
          let sample = try #require(try await passed.next())
          #expect(sample.isKey || !samples.isEmpty)
          #expect(sample.format.encoder == nil && sample.format.size == Size(width: 320, height: 180))
          #expect(last.map { $0 < sample.timestamp } ?? true)
          last = sample.timestamp
          samples.append(sample)
        }

        let statistics = service.inside.registry.session.statistics
        #expect(statistics.renders == 0 && statistics.passed == 0)
        #expect(statistics.decoded == 0)
        #expect(service.inside.videos.counters.encoders.isEmpty)
        let state = try await service.get("/api/cameras").text
        #expect(state.contains("\"running\":\"passed\"") && !state.contains("not_passed"))
        let metrics = try await service.get("/metrics").text
        #expect(metrics.contains("glpreview_video_passed_total "))
        #expect(!metrics.contains("glpreview_video_passed_total 0"))
      }
    }

    @Test("MP4 and RTSP pass H.264 through; picture parameters and WebRTC require encoding")
    func clients() async throws {
      try await Self.withCamera { _, service in
        let whole = try await service.get("/cameras/camera/main.mp4?duration=0.3")
        #expect(whole.status == 200)
        #expect(service.inside.videos.counters.encoders.isEmpty)

        let port = try #require(service.inside.rtsp.port)
        let peer = try await RTSPPeer(to: port)
        let description = try await peer.ask("DESCRIBE", "rtsp://127.0.0.1:\(port)/camera/main")
        #expect(description.status == 200 && description.body.contains("a=framesize:96 320-180\r\n"))
        try await peer.close()
        #expect(service.inside.videos.counters.encoders.isEmpty)

        let words = try await service.get("/cameras/camera/main.mp4?duration=0.3&quality=70")
        #expect(words.status == 200)
        #expect(service.inside.videos.counters.encoders.count == 1)
        let stream = try Self.watch(service, passes: false)
        #expect(try await stream.next()?.format.encoder != nil)
      }
    }

    @Test("MSE switches from passthrough to encoding if the camera's keyframes are too far apart")
    func rareKeys() async throws {
      try await Self.withCamera(keyframe: .seconds(60)) { _, service in
        let peer = try await WebSocketPeer(to: service.port, "/api/ws?src=camera/main")
        try await peer.send(#"{"type": "mse", "value": "avc1.640029"}"#)
        let type = Array("ftyp".utf8)
        await peer.waits { peer.frames.contains { $0.opcode == 2 && $0.payload[4..<8].elementsEqual(type) } }
        #expect(service.inside.videos.counters.encoders.isEmpty)
        await peer.waits {
          peer.frames.count { $0.opcode == 2 && $0.payload[4..<8].elementsEqual(type) } == 2
        }
        #expect(service.inside.videos.counters.encoders.count == 1)
        try await peer.close()
      }
    }

    @Test("a snapshot during H.264 passthrough is decoded from the same camera connection")
    func snapshot() async throws {
      try await Self.withCamera { camera, service in
        let passed = try Self.watch(service)
        #expect(try #require(try await passed.next()).format.encoder == nil)
        let picture = try await service.get("/cameras/camera/main.jpg")
        #expect(picture.status == 200)
        #expect(try JPEGProbe(picture.bytes).width == 320)
        #expect(try await passed.next()?.format.encoder == nil)
        #expect(service.inside.registry.session.statistics.decoded > 0)
        #expect(camera.inside.videos.clientCount(of: "camera", "main") == 1)
      }
    }

    @Test(
      "masks, warmup or colour settings prevent passthrough; the reason is listed and logged once",
      arguments: [
        ("mask", "the camera has masks"), ("warmup", "the camera has a warmup"),
        ("colour", "the camera has colour settings"),
      ])
    func hidden(what: String, reason: String) async throws {
      let log = LogRecords()
      try await Self.withCamera(log: log) { camera in
        switch what {
        case "mask":
          camera.options.masks = [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 64, height: 64)))]
        case "warmup": camera.warmup = .frames(2)
        default: camera.options.color = ColorDescription.Override(matrix: .bt709)
        }
      } _: { _, service in
        let stream = try Self.watch(service)
        for _ in 0..<3 { #expect(try await stream.next()?.format.encoder != nil) }
        #expect(service.inside.videos.counters.passed.load(ordering: .relaxed) == 0)
        #expect(try await Self.watch(service).next() != nil)
        #expect(log.messages.count { $0.contains("not passed through") } == 1)
        #expect(try await service.get("/api/cameras").text.contains("\"not_passed\":\"\(reason)\""))
      }
    }

    @Test("rotating a view during passthrough switches its stream to encoding")
    func changed() async throws {
      try await Self.withCamera { _, service in
        let stream = try Self.watch(service)
        #expect(try await stream.next()?.format.encoder == nil)
        let change = try await service.send(
          "PATCH", "/api/cameras/camera/views/main", body: "{\"rotate\": 90}")
        #expect(change.status == 200)
        var sample = try #require(try await stream.next())
        while sample.format.encoder == nil { sample = try #require(try await stream.next()) }
        #expect(sample.isKey && sample.format.size == Size(width: 180, height: 320))
        #expect(
          try await service.get("/api/cameras").text
            .contains("\"not_passed\":\"the view changes the picture: rotate\""))
        for _ in 0..<5 { #expect(try await stream.next()?.format.encoder != nil) }
      }
    }
  }
#endif
