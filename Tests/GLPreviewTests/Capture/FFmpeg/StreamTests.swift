// What is decided about streams without one: addresses, times, what is shown after a loss, what FFmpeg's numbers mean.
#if FFmpeg
  import PreviewCore
  import TestSupport
  import Testing

  @testable import CaptureFFmpeg
  @testable import CaptureCore
  @testable import GLPreview

  @Suite("StreamURL")
  struct StreamURLTests {
    @Test(
      "StreamURL.name hides user, password and passphrase",
      arguments: [
        ("rtsp://camera/live?channel=1", "rtsp://camera/live?channel=1"),
        ("rtsp://admin:secret@camera:554/live", "rtsp://***@camera:554/live"),
        ("srt://h:1?passphrase=secret#x", "srt://h:1?passphrase=***#***"),
      ])
    func names(text: String, name: String) throws {
      let url = try StreamURL(text)
      #expect(url.name == name)
      #expect(url.address == text)
      #expect(!url.name.contains("secret"))
    }

    @Test("`#transport=udp` sets the transport and is removed; an unknown transport is rejected")
    func transports() throws {
      let url = try StreamURL("rtsp://user:secret@camera/a#b?c#transport=udp")
      #expect(url.address == "rtsp://user:secret@camera/a#b?c")
      #expect(url.transport == .udp)
      #expect(try StreamURL("rtsp://camera/a").transport == nil)

      let error = #expect(throws: SourceError.self) {
        try StreamURL("rtsp://u:secret@camera/a#transport=tpc")
      }
      #expect(error?.kind == .badRequest)
      #expect(error?.description.contains("secret") == false)
    }

    @Test(
      "an unencoded #, / or ? in a password is rejected with an error that does not show it",
      arguments: [
        "rtsp://user:sec#ret@camera/a", "rtsps://user:sec/ret@camera/a", "rtsp://user:sec?ret@camera:554/a",
        "rtmp://user:1#sec@camera/a", "rtsp://user:sec#ret@camera/a#transport=tcp",
      ])
    func unencodedPassword(text: String) {
      let error = #expect(throws: SourceError.self) { try StreamURL(text) }
      #expect(error?.kind == .badRequest && error?.description.contains("# %23") == true)
      #expect(error?.description.contains("sec") == false && error?.description.contains("ret") == false)
    }

    @Test(
      "a stream URL without a valid host is rejected as a bad request",
      arguments: ["rtsp:", "rtsp:camera", "rtsp://", "rtsp://a\0b"])
    func nonsense(text: String) {
      let error = #expect(throws: SourceError.self) { try StreamURL(text) }
      #expect(error?.kind == .badRequest)
    }
  }

  @Suite("StreamClock")
  struct StreamClockTests {
    @Test("StreamClock computes capture times from the smallest network delay so far")
    func jitter() {
      var clock = StreamClock()
      let delays = [30, 90, 10, 200, 10, 60]
      var times: [CaptureInstant] = []

      for (index, delay) in delays.enumerated() {
        let mediaTime = Duration.milliseconds(40 * index)
        let arrived = CaptureInstant.second(100) + mediaTime + .milliseconds(delay)
        clock.observe(mediaTime, arrived: arrived)
        times.append(clock.time(of: mediaTime, now: arrived))
      }

      let expected = [30, 70, 90, 130, 170, 210].map { CaptureInstant.second(100) + .milliseconds($0) }
      #expect(times == expected)
    }

    @Test("capture times follow a sender's clock that runs 0.1 % slow, within 31 ms")
    func drift() {
      var clock = StreamClock()
      var error = Duration.zero

      for second in 0..<3600 {
        let arrived = CaptureInstant.second(1000 + second)
        // The sender's clock loses a thousandth.
        let mediaTime = Duration.milliseconds(999 * second)
        clock.observe(mediaTime, arrived: arrived)
        error = max(error, arrived - clock.time(of: mediaTime, now: arrived))
      }

      #expect(error <= .milliseconds(31))
    }

    @Test(
      "a jump of the sender's clock resets StreamClock; times never go back or into the future",
      arguments: [-900, 900])
    func jumps(seconds: Int) {
      var clock = StreamClock()
      clock.observe(.seconds(1000), arrived: .second(50))
      #expect(clock.time(of: .seconds(1000), now: .second(50)) == .second(50))

      clock.observe(.seconds(1001 + seconds), arrived: .second(51))
      #expect(clock.time(of: .seconds(1001 + seconds), now: .second(51)) == .second(51))
      #expect(clock.time(of: nil, now: .second(52)) == .second(52))

      // Never in the future, and never back.
      #expect(clock.time(of: .seconds(1009 + seconds), now: .second(53)) == .second(53))
      #expect(clock.time(of: .seconds(1001 + seconds), now: .second(54)) == .second(53))
    }
  }

  @Suite("PictureGate")
  struct PictureGateTests {
    @Test("after a loss, PictureGate rejects frames until an intact keyframe, or for 5 s")
    func loss() {
      var gate = PictureGate()
      func admits(_ isKey: Bool, _ isDamaged: Bool, _ second: Int) -> Bool {
        gate.admits(isKey: isKey, isDamaged: isDamaged, at: .second(second))
      }

      #expect(admits(true, false, 0))
      #expect(admits(false, false, 0))
      #expect(!admits(false, true, 1))
      #expect(!admits(false, false, 2))
      #expect(!admits(true, true, 2))
      #expect(admits(true, false, 3))

      gate.lost(at: .second(4))
      #expect(!admits(false, false, 8))
      // Without key pictures, after a while.
      #expect(admits(false, false, 9))
      #expect(admits(false, false, 9))
    }
  }

  @Suite("VideoLayout")
  struct VideoLayoutTests {
    @Test(
      "FFmpeg's pixel format names map to pixel format, bit depth and range",
      arguments: [
        ("yuv420p", PixelFormat.i420, 8, false), ("yuvj422p", .yuv422p, 8, true), ("nv21", .nv21, 8, false),
        ("yuv440p10le", .yuv440p, 10, false), ("yuv444p16le", .yuv444p, 16, false),
        ("gray12le", .grey, 12, false),
        ("p010le", .nv12, 10, false), ("p210le", .nv16, 10, false), ("yuyv422", .yuyv, 8, false),
        ("bgra", .bgra, 8, false), ("yuv411p", .yuv411p, 8, false),
      ])
    func names(name: String, format: PixelFormat, bits: Int, isFullRange: Bool) throws {
      let layout = try VideoLayout.named(name)
      #expect(layout.pixelFormat == format)
      #expect(layout.bits == bits)
      #expect(layout.isFullRange == isFullRange)
    }

    @Test(
      "other FFmpeg formats map by their components, and unsupported ones are rejected by name",
      arguments: [
        ([10, 10, 10], [1, 1], false, PixelFormat.i420), ([8, 8, 8, 8], [1, 0], false, .yuv422p),
        ([12, 12, 12, 12], [0, 0], false, .yuv444p), ([5, 5, 5], [0, 0], true, .rgb24),
        ([8, 8, 8, 8], [0, 0], true, .rgba), ([16, 16], [0, 0], false, .grey), ([1], [0, 0], false, .grey),
        ([8, 8, 8], [2, 2], false, nil), ([32, 32, 32], [0, 0], true, nil), ([], [0, 0], false, nil),
      ])
    func others(depths: [Int], shift: [Int], isRGB: Bool, format: PixelFormat?) throws {
      let components = VideoComponents(depths: depths, chromaShift: shift, isRGB: isRGB)
      guard let format else {
        let failure = #expect(throws: VideoFailure.self) { try VideoLayout.named("odd", components) }
        #expect(failure?.description == "pictures of odd are not supported")
        return
      }
      #expect(
        try VideoLayout.named("odd", components)
          == VideoLayout(pixelFormat: format, samples: .components(depths)))
      #expect(throws: VideoFailure.self) { try VideoLayout.named("odd") }
    }

    @Test(
      "samples of 9 to 16 bits are rounded to the nearest 8-bit code",
      arguments: [(9, false), (10, false), (12, false), (16, false), (10, true), (16, true)])
    func narrowing(bits: Int, isHighAligned: Bool) {
      let largest = (1 << bits) - 1
      let lift = isHighAligned ? 16 - bits : 0

      for isChroma in [false, true] {
        for range in ColorDescription.QuantizationRange.allCases {
          let narrowing = SampleNarrowing(
            bits: bits, isHighAligned: isHighAligned, isChroma: isChroma, range)
          for code in stride(from: 0, through: largest, by: max(largest / 4095, 1)) {
            let found = narrowing.code(of: UInt16(code << lift))
            let exact: Double =
              switch (range, isChroma) {
              case (.limited, _): Double(code) * 256 / Double(largest + 1)
              case (.full, false): Double(code) * 255 / Double(largest)
              case (.full, true): (Double(code) - Double(largest + 1) / 2) * 255 / Double(largest) + 128
              }
            #expect(abs(Double(found) - min(exact, 255)) <= 0.52, "\(bits) \(range) \(isChroma) \(code)")
          }
        }
      }
    }

    @Test(
      "H.273 numbers map to matrix, range and siting; an unspecified matrix depends on the size",
      arguments: [
        (1, ColorDescription.Matrix.bt709), (2, .bt601), (5, .bt601), (6, .bt601), (7, .smpte240m),
        (9, .bt2020),
        (10, .bt2020),
      ])
    func matrices(number: Int, matrix: ColorDescription.Matrix) throws {
      let size = Size(width: 640, height: 480)
      let layout = try VideoLayout.named("yuv420p")
      let color = try VideoSignal(matrix: number, range: 2, chromaLocation: 2).color(of: layout, size)
      #expect(color == ColorDescription(matrix: matrix, range: .full, siting: .centred))
      let silent = try VideoSignal(matrix: 2, range: 0, chromaLocation: 0)
        .color(of: layout, Size(width: 1280, height: 720))
      #expect(silent == ColorDescription(matrix: .bt709, range: .limited, siting: .left))
    }

    @Test("H.273 matrices of RGB, YCgCo and ICtCp are rejected", arguments: [0, 8, 14])
    func otherMatrices(number: Int) throws {
      let layout = try VideoLayout.named("yuv444p")
      #expect(throws: VideoFailure.self) {
        try VideoSignal(matrix: number, range: 1, chromaLocation: 1)
          .color(of: layout, Size(width: 8, height: 8))
      }
    }

    @Test(
      "a display matrix maps to one of eight orientations, even if it is slightly skewed",
      arguments: Orientation.allCases)
    func displayMatrix(orientation: Orientation) {
      // Where the stored axes go, for each.
      let one: Int32 = 1 << 16
      let (x, y) = (orientation.flipsX ? -one : one, orientation.flipsY ? -one : one)
      let found =
        orientation.swapsAxes
        ? Orientation(displayMatrix: 0, x, y, 0) : Orientation(displayMatrix: x, 0, 0, y)
      #expect(found == orientation)

      // A little askew.
      let skewed =
        orientation.swapsAxes
        ? Orientation(displayMatrix: 900, x, y, -900) : Orientation(displayMatrix: x, 900, -900, y)
      #expect(skewed == orientation)
      #expect(Orientation(displayMatrix: .min, 0, 0, .min) == Orientation(.half))
    }
  }
#endif
