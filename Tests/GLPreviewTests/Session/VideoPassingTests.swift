// A camera's own H.264: to whom it is passed on, from where, and when it no longer is.
#if FFmpeg
  import PreviewCore
  import TestSupport
  import Testing

  @testable import GLPreview

  @Suite("H.264 passthrough", .timeLimit(.minutes(15)))
  struct VideoPassingTests {
    private static let times = VideoTimes(
      linger: .zero, joining: .zero, dropping: .zero, unread: allTheTimeThereIs, repeats: allTheTimeThereIs)

    /// A session of a scripted camera. No renderer can be opened in it, unless it may draw.
    private static func session(
      _ device: ScriptedDevice, mayDraw: Bool = false, change: (inout SessionSource) -> Void = { _ in }
    ) throws -> PreviewSession {
      var source = SessionSource(
        name: "camera",
        SessionSource.Origin(isLive: true, hasSizes: false) { LiveSource(device as any CaptureDevice, $0) })
      source.opensWithin = allTheTimeThereIs
      source.keepsWarm = true
      source.options.live = .patient(.every(maximumBytes: 1 << 20))
      change(&source)
      var options = PreviewSession.Options.tested(linger: .zero)
      if !mayDraw {
        options.renderers = SharedRenderers { _ in
          throw DeviceError(problem: "nothing may be drawn", attempts: [], hints: [])
        }
      }
      return try PreviewSession([source], options: options)
    }

    private static func watch(
      _ preview: ViewPreview, _ encoders: EncoderScript = EncoderScript(), _ times: VideoTimes = times,
      _ configuration: VideoConfiguration = VideoConfiguration(), passes: Bool = true,
      inBatches readsInBatches: Bool = false
    ) -> VideoWatch {
      preview.preview.videos.watch(
        preview.preview, configuration, times, passes: passes, inBatches: readsInBatches
      ) {
        encoders.encoder(configuration)
      }
    }

    /// The next sample, which is passed on and has this code.
    private static func expect(
      _ code: UInt8, _ watch: VideoWatch, isKey: Bool = false, _ location: SourceLocation = #_sourceLocation
    ) async throws {
      let sample = try #require(try await watch.next(), sourceLocation: location)
      #expect(sample.format.encoder == nil, sourceLocation: location)
      #expect(sample.packetCode == code && sample.isKey == isKey, sourceLocation: location)
    }

    @Test("an unmodified view passes H.264 through without decoding, drawing or encoding")
    func whole() async throws {
      let (device, encoders) = (ScriptedDevice(), EncoderScript())
      let session = try Self.session(device)
      let watch = Self.watch(try session.addPreview(), encoders)
      device.playWhenOpen(
        .packet(packet(1)), .packet(packet(2, .key)), .packet(packet(3)), .packet(packet(4)))

      try await Self.expect(2, watch, isKey: true)
      try await Self.expect(3, watch)
      try await Self.expect(4, watch)
      let statistics = session.statistics
      #expect(statistics.decoded == 0 && statistics.renders == 0 && statistics.passed == 0)
      #expect(encoders.opens.isEmpty)
      await session.close()
    }

    @Test(
      "preview.video() passes H.264 through by default, and encodes if an encoder is set",
      .enabled(if: hasEncoder))
    func library() async throws {
      let device = ScriptedDevice()
      let session = try Self.session(device, mayDraw: true)
      let preview = try session.addPreview()
      let packets = try realPackets([60, 70])
      let passed = Task {
        var samples: [VideoSample] = []
        for try await sample in preview.video() {
          samples.append(sample)
          if samples.count == 2 { break }
        }
        return samples
      }
      await until { preview.preview.videos.count == 1 }
      device.playWhenOpen(.packet(packets[0]), .packet(packets[1]))
      let samples = try await passed.value
      #expect(samples.map(\.bytes) == packets.map { H264Stream($0).slices })
      #expect(samples.allSatisfy { $0.format.encoder == nil })

      var encoded = preview.video(VideoConfiguration(encoder: .x264)).makeAsyncIterator()
      #expect(try await encoded.next()?.format.encoder == .x264)
      await session.close()
    }

    @Test("a joining viewer gets all pictures since the last keyframe with their original timestamps")
    func joining() async throws {
      let device = ScriptedDevice()
      let session = try Self.session(device)
      let preview = try session.addPreview()
      let first = Self.watch(preview)
      var samples: [VideoSample] = []
      for (code, kind) in [(1, SliceKind.key), (2, .p), (3, .key), (4, .p), (5, .p)] {
        device.playWhenOpen(.packet(packet(UInt8(code), kind)))
        samples.append(try #require(try await first.next()))
      }

      // Many old pictures at once are no reason to lose them.
      let second = Self.watch(preview)
      for sample in samples[2...] { #expect(try await second.next() == sample) }
      device.playWhenOpen(.packet(packet(6)))
      try await Self.expect(6, first)
      try await Self.expect(6, second)
      #expect(preview.preview.videos.count == 1)
      await session.close()
    }

    @Test("a viewer that stops reading loses pictures and resumes with the next keyframe")
    func slow() async throws {
      let device = ScriptedDevice()
      let session = try Self.session(device)
      let preview = try session.addPreview()
      var times = Self.times
      times.unread = .zero
      let (quick, slow) = (Self.watch(preview, EncoderScript(), times), Self.watch(preview))
      device.playWhenOpen(.packet(packet(1, .key)))
      try await Self.expect(1, quick, isKey: true)
      try await Self.expect(1, slow, isKey: true)
      for code: UInt8 in 2...5 {
        device.playWhenOpen(.packet(packet(code)))
        try await Self.expect(code, quick)
      }
      device.playWhenOpen(.packet(packet(6, .key)))
      try await Self.expect(6, quick, isKey: true)
      try await Self.expect(6, slow, isKey: true)
      await session.close()
    }

    @Test("damaged pictures and pictures that reference them are not passed through")
    func loss() async throws {
      let device = ScriptedDevice()
      let session = try Self.session(device)
      let watch = Self.watch(try session.addPreview())
      device.playWhenOpen(
        .packet(packet(1, .key)), .packet(packet(2), isDamaged: true), .packet(packet(3)),
        .packet(packet(4, .key)), .packet(packet(5)))
      try await Self.expect(1, watch, isKey: true)
      try await Self.expect(4, watch, isKey: true)
      try await Self.expect(5, watch)
      #expect(await session.sources.first?.status?.counters.damaged == 2)
      await session.close()
    }

    @Test("new parameter sets start a new format at a keyframe")
    func parameters() async throws {
      let device = ScriptedDevice()
      let session = try Self.session(device)
      let watch = Self.watch(try session.addPreview())
      device.playWhenOpen(.packet(packet(1, .key)), .packet(packet(2, .key, pps: [0x68, 9])))
      let first = try #require(try await watch.next())
      let second = try #require(try await watch.next())
      #expect(first.format.pps == smallPPS && second.format.pps == [0x68, 9] && second.isKey)
      await session.close()
    }

    @Test("a stream is encoded from its first B picture on, starting with a keyframe")
    func reordered() async throws {
      let (device, encoders) = (ScriptedDevice(), EncoderScript())
      let session = try Self.session(device, mayDraw: true)
      let watch = Self.watch(try session.addPreview(), encoders)
      device.playWhenOpen(.packet(packet(1, .key)))
      try await Self.expect(1, watch, isKey: true)
      device.playWhenOpen(.packet(packet(2, .b), decoded: 50))
      let sample = try #require(try await watch.next())
      #expect(sample.format.encoder != nil && sample.isKey)
      await session.close()
    }

    @Test("a lost camera's fallback is encoded, and passthrough resumes after the camera reconnects")
    func lost() async throws {
      let device = ScriptedDevice([.success([.packet(packet(1, .key)), .packet(packet(2))])])
      let encoders = EncoderScript()
      let session = try Self.session(device, mayDraw: true)
      let watch = Self.watch(try session.addPreview(), encoders)
      try await Self.expect(1, watch, isKey: true)
      try await Self.expect(2, watch)

      device.play(.lost("unplugged"))
      let fallback = try #require(try await watch.next())
      #expect(fallback.format.encoder != nil && fallback.isKey)

      // Nobody answers until it is switched on again.
      await session["camera"]?.setEnabled(false)
      device.connectAgain(.packet(packet(7)), .packet(packet(8, .key)), .packet(packet(9)))
      await session["camera"]?.setEnabled(true)
      var sample = try #require(try await watch.next())
      while sample.format.encoder != nil { sample = try #require(try await watch.next()) }
      #expect(sample.packetCode == 8 && sample.isKey && sample.timestamp > fallback.timestamp)
      try await Self.expect(9, watch)
      // The encoder that nobody needs is closed.
      await until { encoders.closes == encoders.opens.count }
      await session.close()
    }

    /// What ends the right to see what was passed on before.
    enum Change: CaseIterable {
      case disabled, removed, switchedOff, turned, limited
    }

    @Test(
      "pictures unread before a view change are never delivered, and the changed view is encoded",
      .enabled(if: hasEncoder), arguments: Change.allCases)
    func hidden(by change: Change) async throws {
      let (device, encoders) = (ScriptedDevice(), EncoderScript())
      let session = try Self.session(device, mayDraw: true)
      let preview = try session.addPreview()
      let (quick, slow) = (Self.watch(preview, encoders), Self.watch(preview, encoders))
      let packets = try realPackets([60, 70, 80, 90])
      device.playWhenOpen(.packet(packets[0]))
      _ = try await quick.next()
      _ = try await slow.next()
      device.playWhenOpen(.packet(packets[1]))
      #expect(try await quick.next()?.format.encoder == nil)

      switch change {
      case .disabled:
        preview.isEnabled = false
        let read = Task { try await slow.next() }
        await letOthersGoOn()
        preview.isEnabled = true
        // What was captured while it was disabled is not shown either: it is encoded up to the next key picture.
        device.playWhenOpen(.packet(packets[2]))
        let sample = try #require(try await read.value)
        #expect(sample.isKey && sample.format.encoder != nil)
      case .removed:
        session.remove(preview)
        #expect(try await slow.next() == nil)
      case .switchedOff:
        await session["camera"]?.setEnabled(false)
        #expect(try await quick.next()?.format.encoder != nil)
        let sample = try #require(try await slow.next())
        #expect(sample.isKey && sample.format.encoder != nil)
      case .turned, .limited:
        if change == .turned { preview.rotation = .half } else { preview.updateEvery = .milliseconds(1) }
        device.playWhenOpen(.packet(packets[2]))
        while try #require(try await quick.next()).format.encoder == nil {}
        if change == .limited { break }
        let sample = try #require(try await slow.next())
        #expect(sample.isKey && sample.format.encoder != nil)
        #expect(session.statistics.decoded > 0)

        // Back again, it is passed on from what was captured since.
        preview.rotation = .none
        device.playWhenOpen(.packet(packets[3]), .packet(packets[0]))
        var passed = try #require(try await quick.next())
        while passed.format.encoder != nil { passed = try #require(try await quick.next()) }
        #expect(passed.isKey && passed.bytes == H264Stream(packets[0]).slices)
      }
      await session.close()
    }

    @Test("pictures captured while a view is disabled are not passed through when it is enabled")
    func disabled() async throws {
      let device = ScriptedDevice()
      let session = try Self.session(device)
      let (hidden, other) = (
        try session.addPreview(), try session.addPreview(ViewConfiguration(name: "other"))
      )
      let (watch, beside) = (Self.watch(hidden), Self.watch(other))
      func give(_ code: UInt8, _ kind: SliceKind = .p) async throws {
        device.playWhenOpen(.packet(packet(code, kind)))
        try await Self.expect(code, beside, isKey: kind == .key)
      }
      try await give(1, .key)
      try await give(2)
      try await Self.expect(1, watch, isKey: true)
      try await Self.expect(2, watch)

      hidden.isEnabled = false
      try await give(3)
      hidden.isEnabled = true
      try await give(4, .key)
      try await Self.expect(4, watch, isKey: true)
      await session.close()
    }

    @Test(
      "a snapshot decodes the pictures since the last keyframe while passthrough continues",
      .enabled(if: hasEncoder))
    func snapshot() async throws {
      let device = ScriptedDevice()
      let session = try Self.session(device, mayDraw: true)
      let preview = try session.addPreview()
      let watch = Self.watch(preview)
      let packets = try realPackets([60, 120, 180, 90])
      device.playWhenOpen(.packet(packets[0]), .packet(packets[1]), .packet(packets[2]))
      for packet in packets[..<3] { #expect(try await watch.next()?.bytes == H264Stream(packet).slices) }
      #expect(session.statistics.decoded == 0)

      let request = SnapshotRequest.patient(.newest(maxAge: allTheTimeThereIs), as: .rgba)
      let picture = try #require(try await session.snapshot(request).pictures.first).picture
      #expect(picture.size == Size(width: 64, height: 48))
      // 180 in limited range is 191.
      #expect((185...197).contains(Int(picture.bytes[0])))
      #expect(session.statistics.decoded == 1)

      device.playWhenOpen(.packet(packets[3]))
      #expect(try await watch.next()?.bytes == H264Stream(packets[3]).slices)
      #expect(session.statistics.decoded == 1)
      await session.close()
    }

    @Test(
      "a viewer gets encoded video if a quality is set or passthrough is not permitted",
      .enabled(if: hasEncoder), arguments: [false, true])
    func asked(byConfiguration: Bool) async throws {
      let (device, encoders) = (ScriptedDevice(), EncoderScript())
      let session = try Self.session(device, mayDraw: true)
      let configuration = byConfiguration ? VideoConfiguration(quality: 70) : VideoConfiguration()
      let preview = try session.addPreview()
      let watch = Self.watch(preview, encoders, Self.times, configuration, passes: byConfiguration)
      let other = Self.watch(preview, encoders)
      device.playWhenOpen(.packet(try realPackets([60])[0]))
      #expect(try await watch.next()?.format.encoder != nil)
      let passed = try #require(try await other.next())
      #expect(passed.format.encoder == nil)
      await session.close()
    }
  }
#endif
