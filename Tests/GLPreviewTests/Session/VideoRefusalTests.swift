// Which views may show a camera's own H.264, and the reasons why others do not.
#if FFmpeg
  import PreviewCore
  import Testing

  @testable import GLPreview

  @Suite("Reasons against H.264 passthrough")
  struct VideoRefusalTests {
    @Test("only an unmodified view of an unmodified source at its full rate is passed through")
    func decisions() throws {
      func passes(_ change: (inout PreviewConfiguration) throws -> Void) rethrows -> Bool {
        var configuration = PreviewConfiguration(.view(ViewConfiguration(), of: "camera"))
        try change(&configuration)
        return configuration.passesVideo
      }
      #expect(passes { _ in })
      #expect(!passes { $0.isEnabled = false })
      #expect(!passes { $0.updateEvery = .milliseconds(100) })
      for (key, word) in [
        ("crop", "8x8+0+0"), ("rotate", "90"), ("mirror", "horizontal"), ("width", "24"),
        ("filter", "mitchell"), ("yaw", "10"), ("projection", "cylinder"), ("rotate", "1.5"),
        ("corners", "0,0 9,0 9,9 0,9"),
        ("label", "x"),
      ] {
        #expect(try !passes { try $0.view?.set(key, to: word) }, "\(key)")
      }
      #expect(VideoConfiguration().takesAnyVideo && !VideoConfiguration(encoder: .x264).takesAnyVideo)

      var options = SourceOptions()
      #expect(options.showsVideo)
      options.color = ColorDescription.Override(matrix: .bt709)
      #expect(!options.showsVideo)
      options = SourceOptions()
      options.masks = [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 8, height: 8)))]
      #expect(!options.showsVideo)
    }

    @Test("videoRefusal names the first reason for encoding, and is nil if passthrough is possible")
    func reasons() throws {
      func reason(
        _ video: VideoConfiguration = VideoConfiguration(), format: String = "h264", refusal: String? = nil,
        source change: (inout SessionSource) -> Void = { _ in },
        view: (ViewPreview) -> Void = { _ in }
      ) throws -> String? {
        var source = SessionSource(
          name: "camera",
          SessionSource.Origin(isLive: true, hasSizes: false) {
            LiveSource(ScriptedDevice() as any CaptureDevice, $0)
          })
        change(&source)
        let preview = try PreviewSession([source]).addPreview()
        view(preview)
        var mode = SourceStatus.Mode(format: format, transport: "tcp")
        mode.videoRefusal = refusal
        return preview.preview.videoRefusal(video, from: mode)
      }
      #expect(try reason() == nil)
      #expect(try reason(VideoConfiguration(quality: 70)) == "the video settings require encoding")
      #expect(try reason(format: "MJPEG") == "the camera sends MJPEG, not H.264 over a network stream")
      #expect(
        try reason(refusal: "it has B pictures")
          == "the camera's H.264 can't be passed through: it has B pictures")
      #expect(try reason(view: { $0.updateEvery = .seconds(1) }) == "the view limits the frame rate")
      let turned = try reason(view: { preview in
        preview.rotation = .half
        preview.mirroring = .horizontal
      })
      #expect(turned == "the view changes the picture: rotate, mirror")
      let warped = try reason(view: { $0.update { $0.projection = Projection(yaw: 10) } })
      #expect(warped == "the view changes the picture: projection")
      let level = try reason(view: { $0.update { $0.angle = 1.5 } })
      #expect(level == "the view changes the picture: rotate")
      #expect(try reason(source: { $0.warmup = .frames(1) }) == "the camera has a warmup")
      let pattern = try PreviewSession([SessionSource("pattern:counter")]).addPreview()
      #expect(
        pattern.preview.videoRefusal(VideoConfiguration(), from: nil)
          == "the source is a file or a pattern")
    }
  }
#endif
