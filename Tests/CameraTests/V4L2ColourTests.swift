// Whether what is drawn of a camera's picture has the colours that its driver says.
import GLPreview
import PreviewCore
import ReferenceRenderer
import Testing

extension CameraMachine {
  @Suite("V4L2 colours") struct V4L2ColourTests {
    private let camera: Vivid

    init() throws { camera = try Vivid.camera() }

    @Test(
      "colour bars are drawn correctly for every colour setting but BT.2020 constant luminance",
      arguments: [("YUYV", 640, 480), ("NV12", 1280, 720)])
    func settings(format: String, width: Int, height: Int) async throws {
      let renderer = try await GLRenderer.open(.software)
      // Constant luminance is drawn with the matrix of the other: up to 46 codes off (Tests/CameraVM/README.md).
      for colour in VividColour.all where colour.effectiveEncoding != .bt2020ConstantLuminance {
        try colour.set(on: camera)
        let source = try await LiveSource.camera("\(camera.node),format=\(format),size=\(width)x\(height)")
        let frame = try await source.frame()
        await source.close()

        #expect(frame.format.size == Size(width: width, height: height))
        #expect(frame.format.color.range == colour.effectiveRange, "\(colour)")
        let drawn = try await bars(frame, by: renderer, renderer.tuning)
        #expect(VividBars.distance(of: drawn) <= VividBars.tolerance, "\(colour): \(drawn)")
      }
      await renderer.close()
    }

    @Test("every readable format of the single-planar API gives the right colour bars")
    func formats() async throws { try await check(camera, atLeast: 17) }

    @Test("every readable format of the multi-planar API gives the right colour bars", arguments: [1, 2])
    func multiplanar(planes: Int) async throws {
      try await Vivid.with(multiplanar: planes) { try await check($0, atLeast: planes == 2 ? 21 : 17) }
    }

    @Test("limited-range RGB formats are drawn in the right colours")
    func limitedRGB() async throws {
      try VividColour(quantization: .limited).set(on: camera)
      for format in ["RGB3", "XR24"] {
        let drawn = try await drawn(camera, format)
        #expect(VividBars.distance(of: drawn) <= 1, "\(format): \(drawn)")
      }
    }

    private func check(_ camera: Vivid, atLeast count: Int) async throws {
      // Else what has alpha is transparent.
      try camera.set("alpha_component", 255)
      let description = try #require(await V4L2Camera.all().first { $0.node == camera.node })
      let formats = description.formats.filter(\.isReadable).map(\.fourCC)
      #expect(formats.count >= count, "\(formats)")
      for format in formats {
        let drawn = try await drawn(camera, format)
        // Vivid's grey is BT.709's luma, whatever its colour controls say.
        let expected = VividBars.colours.map { colour in
          format == "GREY"
            ? SIMD3(repeating: (SIMD3(0.2126, 0.7152, 0.0722) * colour.codes).sum()) : colour.codes
        }
        let distances = zip(drawn, expected).map { max(($0 - $1).max(), ($1 - $0).max()) }
        #expect(distances.allSatisfy { $0 <= VividBars.tolerance }, "\(format): \(drawn)")
      }
    }

    /// By the reference renderer: for what a GPU makes of a format there are other tests.
    private func drawn(_ camera: Vivid, _ format: String) async throws -> [SIMD3<Double>] {
      let source = try await LiveSource.camera("\(camera.node),format=\(format),size=320x180")
      let frame = try await source.frame()
      let mode = try #require(source.status.mode)
      #expect(mode.format == format)
      #expect(mode.size == Size(width: 320, height: 180))
      #expect(mode.transport == "mmap")
      await source.close()
      return try await bars(frame, by: ReferenceRenderer(), RenderTuning(maximumTargetSide: 16384))
    }
  }
}
