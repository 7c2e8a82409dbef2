// Who reads a video now and then gets all of it, and nothing but the camera.
#if FFmpeg
  import PreviewCore
  import TestSupport
  import Testing

  @testable import GLPreview

  @Suite("Batched video watchers", .timeLimit(.minutes(15)))
  struct BatchedVideoTests {
    private static let times = VideoTimes(
      linger: .zero, joining: .zero, dropping: .zero, unread: allTheTimeThereIs, repeats: allTheTimeThereIs)

    private static func session(_ device: ScriptedDevice) throws -> PreviewSession {
      var source = SessionSource(
        name: "camera",
        SessionSource.Origin(isLive: true, hasSizes: false) { LiveSource(device as any CaptureDevice, $0) })
      source.opensWithin = allTheTimeThereIs
      source.keepsWarm = true
      source.options.live = .patient(.newest)
      return try PreviewSession([source], options: .tested(linger: .zero))
    }

    private static func watch(
      _ preview: ViewPreview, _ encoders: EncoderScript, inBatches readsInBatches: Bool = true
    ) -> VideoWatch {
      let configuration = VideoConfiguration()
      return preview.preview.videos.watch(
        preview.preview, configuration, times, passes: true, inBatches: readsInBatches
      ) { encoders.encoder(configuration) }
    }

    /// The codes of samples that are the camera's own.
    private static func codes(_ samples: [VideoSample]) -> [UInt8] {
      #expect(samples.allSatisfy { $0.format.encoder == nil })
      return samples.map(\.packetCode)
    }

    @Test(
      "a batched watcher gets each sample once, in order, without decoding, encoding or drops"
    )
    func batches() async throws {
      let (device, encoders) = (ScriptedDevice(), EncoderScript())
      let session = try Self.session(device)
      let watch = Self.watch(try session.addPreview(), encoders)
      device.playWhenOpen(.packet(packet(1, .key)))
      var codes = Self.codes(try #require(try await watch.nextSamples()))
      #expect(codes == [1])
      for code: UInt8 in 2...40 { device.play(.packet(packet(code, code % 8 == 0 ? .key : .p))) }
      while codes.last != 40 { codes += Self.codes(try #require(try await watch.nextSamples())) }
      #expect(codes == Array(1...40))
      #expect(session.statistics.decoded == 0 && encoders.opens.isEmpty)
      #expect(await session.sources.first?.status?.counters.dropped == 0)
      await session.close()
    }

    @Test(
      "a batched watcher gets all samples before a loss, and resumes with a keyframe after it"
    )
    func lost() async throws {
      let (device, encoders) = (ScriptedDevice(), EncoderScript())
      let session = try Self.session(device)
      let watch = Self.watch(try session.addPreview(), encoders)
      device.playWhenOpen(.packet(packet(1, .key)))
      var codes = Self.codes(try #require(try await watch.nextSamples()))
      device.play(.packet(packet(2)), .packet(packet(3)), .lost("unplugged"))
      await until { await session.sources.first?.status?.state == .lost }
      while true {
        let samples = try #require(try await watch.nextSamples())
        if samples.isEmpty { break }
        codes += Self.codes(samples)
      }
      #expect(codes == [1, 2, 3])
      await session["camera"]?.setEnabled(false)
      device.connectAgain(.packet(packet(7)), .packet(packet(8, .key)), .packet(packet(9)))
      await session["camera"]?.setEnabled(true)
      var samples = try #require(try await watch.nextSamples())
      while samples.last?.packetCode != 9 {
        samples += try #require(try await watch.nextSamples())
      }
      samples.removeAll { $0.format.encoder != nil }
      #expect(samples.map(\.packetCode) == [8, 9] && samples[0].isKey)
      await session.close()
    }

    @Test("a batched watcher gets no encoded fallback, even beside a live watcher")
    func beside() async throws {
      let (device, encoders) = (ScriptedDevice(), EncoderScript())
      let session = try Self.session(device)
      let preview = try session.addPreview()
      let (watch, live) = (
        Self.watch(preview, encoders), Self.watch(preview, encoders, inBatches: false)
      )
      device.playWhenOpen(.packet(packet(1, .key)))
      #expect(try await live.next()?.packetCode == 1)
      #expect(Self.codes(try #require(try await watch.nextSamples())) == [1])
      device.play(.lost("unplugged"))
      #expect(try await live.next()?.format.encoder != nil)
      #expect(try await watch.nextSamples() == [])
      await session.close()
    }
  }
#endif
