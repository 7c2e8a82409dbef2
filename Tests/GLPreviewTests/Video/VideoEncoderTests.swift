// Who encodes, and what comes of it when one fails.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Video encoders", .timeLimit(.minutes(15)))
struct VideoEncoderTests {
  private static let missing = VideoError(.unavailable, "it is not installed")

  /// The samples of pictures one after another.
  private static func samples(
    _ encoder: VideoEncoder, _ codes: [UInt8], _ size: Size = Size(width: 8, height: 6), isKey: Bool = false
  ) async throws -> [VideoSample] {
    var samples: [VideoSample] = []
    for code in codes {
      samples.append(
        try await encoder.encode(
          videoPicture(code, size), at: .start + .milliseconds(40 * Int(code)), isKey: isKey))
    }
    return samples
  }

  @Test("the first encoder that returns a picture is used, hardware before software")
  func automatic() async throws {
    let script = EncoderScript([.v4l2m2m: .refusal(Self.missing), .vaapi: .pictures(0)])
    let samples = try await Self.samples(script.encoder(), [1, 2])

    #expect(samples.map(\.isKey) == [true, false])
    #expect(samples.map(\.code) == [1, 2])
    #expect(samples.map(\.format.encoder) == [.nvenc, .nvenc])
    #expect(script.opens.map(\.encoder) == [.vaapi, .nvenc])
    #expect(samples[0].format.codec == "avc1.42c008")
    #expect(samples[1].timestamp == .start + .milliseconds(80))
  }

  @Test("a configured encoder is the only one that is tried")
  func named() async throws {
    let script = EncoderScript([.x264: .refusal(Self.missing)])
    let encoder = script.encoder(VideoConfiguration(encoder: .x264))
    await #expect(throws: Self.missing) { try await Self.samples(encoder, [1]) }
    #expect(script.opens.isEmpty)
  }

  @Test("an error after all encoders failed lists each distinct reason once")
  func none() async throws {
    let script = EncoderScript([
      .v4l2m2m: .refusal(Self.missing), .vaapi: .refusal(Self.missing), .nvenc: .refusal(Self.missing),
      .x264: .refusal(Self.missing), .openh264: .refusal(VideoError(.unavailable, "nor is this")),
    ])
    let encoder = script.encoder()
    await #expect(throws: VideoError(.unavailable, "it is not installed; nor is this")) {
      try await Self.samples(encoder, [1])
    }
  }

  @Test(
    "an encoder that fails mid-stream is reopened once, then the next starts at a keyframe"
  )
  func failing() async throws {
    let script = EncoderScript([
      .v4l2m2m: .pictures(2), .vaapi: .refusal(Self.missing), .nvenc: .refusal(Self.missing),
    ])
    let samples = try await Self.samples(script.encoder(), [1, 2, 3, 4, 5, 6])

    #expect(samples.map(\.code) == [1, 2, 3, 4, 5, 6])
    #expect(script.opens.map(\.encoder) == [.v4l2m2m, .v4l2m2m, .x264])
    #expect(samples.map(\.isKey) == [true, false, true, false, true, false])
    #expect(samples.map(\.format.encoder) == [.v4l2m2m, .v4l2m2m, .v4l2m2m, .v4l2m2m, .x264, .x264])
  }

  @Test("an encoder with delay is fed the same picture again, and one without output is skipped")
  func delayed() async throws {
    let script = EncoderScript([.v4l2m2m: .delay(.max), .vaapi: .delay(2)])
    let samples = try await Self.samples(script.encoder(), [1, 2])

    #expect(samples.map(\.code) == [1, 2])
    #expect(script.opens.map(\.encoder) == [.v4l2m2m, .vaapi])
    #expect(script.calls.count { $0.encoder == .vaapi } == 4)
    #expect(script.calls.count { $0.isKey } == 2)
  }

  @Test("an encoder that hangs throws VideoError")
  func hanging() async throws {
    let script = EncoderScript([.x264: .hang])
    defer { script.release() }
    let encoder = script.encoder(VideoConfiguration(encoder: .x264), stallsAfter: .milliseconds(1))
    await #expect(throws: VideoError.self) { try await Self.samples(encoder, [1]) }
  }

  @Test("a size change starts a new stream, for which all encoders are tried again")
  func sizes() async throws {
    let script = EncoderScript([.v4l2m2m: .pictures(0)])
    let encoder = script.encoder()
    let first = try await Self.samples(encoder, [1, 2])
    let second = try await Self.samples(encoder, [3, 4], Size(width: 9, height: 7))

    #expect((first + second).map(\.isKey) == [true, false, true, false])
    #expect(second[0].format.size == Size(width: 9, height: 7))
    #expect(script.opens.map(\.encoder) == [.v4l2m2m, .vaapi, .v4l2m2m, .vaapi])
    #expect(script.opens.last?.size == Size(width: 10, height: 8))
  }

  @Test("a timestamp that does not increase is moved to 1 ms after the previous one")
  func times() async throws {
    let encoder = EncoderScript().encoder()
    let times: [CaptureInstant] = [.start, .start, .start - .seconds(1), .start + .seconds(1)]
    var given: [Duration] = []
    for time in times {
      given.append(try await encoder.encode(videoPicture(1), at: time, isKey: false).timestamp - .start)
    }
    #expect(given == [.zero, .milliseconds(1), .milliseconds(2), .seconds(1)])
  }

  @Test("an encoder's bit rate is raised if pictures come at less than 30 per second")
  func rate() async throws {
    let script = EncoderScript()
    let encoder = script.encoder(VideoConfiguration(bitrate: 300_000, encoder: .x264))
    for index in 0..<100 {
      _ = try await encoder.encode(
        videoPicture(1), at: .start + .milliseconds(100 * index), isKey: false)
    }
    #expect(script.opens.map(\.bitrate) == [300_000])
    // Ten a second: each may have thrice as many bits. A change of less than a quarter is let be.
    #expect(script.bitrates.allSatisfy { $0 > 300_000 })
    #expect(script.bitrates.last.map { 650_000...900_000 ~= $0 } == true)
  }

  @Test("a bit rate factor applies from the next picture on, and factor 1 restores the bit rate")
  func bitrateFactor() async throws {
    let script = EncoderScript()
    let encoder = script.encoder(VideoConfiguration(bitrate: 300_000, encoder: .x264))
    for (index, factor) in [1, 1, 0.9, 0.9, 1].enumerated() {
      _ = try await encoder.encode(
        videoPicture(1), at: .start + .nanoseconds(33_333_333 * index), isKey: false, bitrateFactor: factor)
    }
    #expect(script.opens.map(\.bitrate) == [300_000])
    #expect(script.bitrates.map { ($0 + 500) / 1000 } == [270, 300])
  }

  @Test("VideoConfiguration clamps values that are out of range")
  func configuration() {
    var configuration = VideoConfiguration(bitrate: 0, quality: 200, keyframeInterval: .zero)
    #expect(
      configuration == VideoConfiguration(bitrate: 16_000, quality: 100, keyframeInterval: .milliseconds(100))
    )
    configuration.quality = -5
    #expect(configuration.quality == 1)
    #expect(VideoConfiguration().rateFactor == 24)
    #expect(VideoConfiguration(quality: 1).rateFactor == 51)
    #expect(VideoConfiguration().candidates == [.v4l2m2m, .vaapi, .nvenc, .x264, .openh264])
  }
}

#if FFmpeg
  /// Encoders that are installed here, of those that need no hardware.
  private enum Software {
    static let installed = [VideoConfiguration.Encoder.x264, .openh264].filter { encoder in
      do throws(VideoError) {
        _ = try LibraryEncoder(
          EncoderSettings(
            encoder: encoder, size: Size(width: 64, height: 64), rateFactor: 24, bitrate: 1_000_000,
            keyframeInterval: 600))
      } catch { return error.kind != .unavailable }
      return true
    }
  }

  @Suite(
    "Encoded pictures",
    .enabled(if: !Software.installed.isEmpty, "neither x264 nor OpenH264 is installed"),
    .timeLimit(.minutes(15)))
  struct VideoEncoderPictureTests {
    /// Slopes that move, in limited range.
    private static func picture(_ size: Size, _ index: Int) -> Picture {
      let planes = Picture.Format.video.planeSizes(of: size)
      var bytes: [UInt8] = []
      for (plane, size) in planes.enumerated() {
        for y in 0..<size.height {
          for x in 0..<size.width {
            let slope = (x + y + 2 * index) * 160 / (size.width + size.height)
            let code = [40 + slope, 60 + x * 120 / size.width, 60 + y * 120 / size.height][plane]
            bytes.append(UInt8(code))
          }
        }
      }
      return Picture(tight: size, format: .video, bytes: bytes)
    }

    /// How far a plane of a frame is from a picture's, in the mean.
    private static func difference(_ frame: Frame, _ picture: Picture, _ plane: Int) -> Double {
      let (one, other) = (frame.planes[plane], picture.planes[plane])
      var sum = 0
      for y in 0..<other.size.height {
        for x in 0..<other.size.width {
          let code = Int(frame.bytes[one.offset + y * one.bytesPerRow + x])
          sum += abs(code - Int(picture.bytes[other.offset + y * other.bytesPerRow + x]))
        }
      }
      return Double(sum) / Double(other.size.pixelCount)
    }

    @Test(
      "encoded pictures decode to nearly the same samples, size, colour matrix and range",
      arguments: Software.installed,
      [Size(width: 64, height: 48), Size(width: 101, height: 67)])
    func decoded(encoder: VideoConfiguration.Encoder, size: Size) async throws {
      let video = VideoEncoder(
        VideoConfiguration(encoder: encoder), open: openEncoder, stallsAfter: allTheTimeThereIs)
      var samples: [VideoSample] = []
      for index in 0..<12 {
        samples.append(
          try await video.encode(
            Self.picture(size, index), at: .start + .milliseconds(40 * index), isKey: index == 7))
      }
      let even = Size(width: (size.width + 1) / 2 * 2, height: (size.height + 1) / 2 * 2)
      let set = try #require(SequenceParameters(samples[0].format.sps))
      #expect(set.size == even)
      #expect(set.profile == 66)
      #expect(set.constraints & 0x40 != 0)
      #expect(samples.enumerated().filter(\.element.isKey).map(\.offset) == [0, 7])
      // One slice a picture.
      #expect(samples.allSatisfy { H264Stream.units($0.annexB).count == ($0.isKey ? 3 : 1) })

      try await withFile([], named: "clip.mp4") { path in
        let file = try VideoFileWriter(path)
        for sample in samples { try file.append(sample) }
        try file.finish()
        let decoded = try await frames(path)
        #expect(decoded.count == samples.count)
        for (index, frame) in decoded.enumerated() {
          let picture = Self.picture(size, index)
          #expect(frame.format.size == even)
          #expect(frame.format.color.matrix == .bt601)
          #expect(frame.format.color.range == .limited)
          #expect(Self.difference(frame, picture, 0) < 2, "luma of picture \(index)")
          #expect(Self.difference(frame, picture, 1) < 3, "Cb of picture \(index)")
          #expect(Self.difference(frame, picture, 2) < 3, "Cr of picture \(index)")
        }
      }
    }

    @Test(
      "lowering the bit rate of a running encoder at least halves its output", arguments: Software.installed)
    func bitrate(encoder: VideoConfiguration.Encoder) throws {
      let size = Size(width: 160, height: 120)
      var noise = SeededGenerator(seed: 1)
      let pictures = (0..<60).map { _ in
        Picture(
          tight: size, format: .video,
          bytes: (0..<size.pixelCount * 3 / 2).map { _ in UInt8.random(in: 120...136, using: &noise) })
      }
      let video = try LibraryEncoder(
        EncoderSettings(
          encoder: encoder, size: size, rateFactor: 24, bitrate: 4_000_000, keyframeInterval: 600))
      func bytes(_ pictures: some Collection<Picture>) throws -> Int {
        try pictures.reduce(0) { $0 + (try video.encode($1, isKey: false).count) }
      }
      let before = try bytes(pictures.prefix(30))
      video.setBitrate(100_000)
      let after = try bytes(pictures.suffix(30))
      #expect(after < before / 2)
    }
  }
#endif
