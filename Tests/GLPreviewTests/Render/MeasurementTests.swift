import Testing

@testable import GLPreview

@Suite("Measurement of rendering")
struct MeasurementTests {
  private func frame(_ format: PixelFormat) throws -> Frame {
    let format = Frame.Format(format, Size(width: 64, height: 48), color: .jfif)
    let count = try #require(format.pixelFormat.tightByteCount(of: format.size))
    return try Frame(tight: format, bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) })
  }

  @Test(
    "a measured render gives the same pictures, and its byte counts match frame and pictures",
    arguments: [PixelFormat.nv12, .i420, .yuyv, .rgb24])
  func measure(format: PixelFormat) async throws {
    let frame = try frame(format)
    let renderer = try await GLRenderer.open(on: GPUDevice.chooseForGL())
    let views = [
      ViewConfiguration(name: "a", width: 32, height: 24),
      ViewConfiguration(name: "b", rotation: .clockwise90, width: 24, height: 32),
    ]
    let plan = try renderer.plan(frame.format, views, as: .ycbcr(.yuv420))

    // The second time textures and programs are there already.
    for _ in 0..<2 {
      let (pictures, measurement) = try await renderer.measure(frame, plan)
      #expect(pictures == (try await renderer.render(frame, plan)))
      #expect(measurement.upload.byteCount == frame.bytes.count)
      #expect(measurement.readback.byteCount == pictures.reduce(0) { $0 + $1.bytes.count })
      #expect(measurement.passes.byteCount == measurement.upload.byteCount + measurement.readback.byteCount)
      for stage in [measurement.upload, measurement.passes, measurement.readback] {
        #expect(stage.wall > .zero)
        #expect(stage.cpu >= .zero)
      }
    }

    await renderer.close()
    await #expect(throws: RenderError.self) { _ = try await renderer.measure(frame, plan) }
  }

  @Test("the CPU time clock advances while the CPU works")
  func clock() {
    let start = ProcessorClock.now
    var sum: UInt64 = 1
    while ProcessorClock.now == start { sum = sum &* 6_364_136_223_846_793_005 &+ 1 }
    #expect(ProcessorClock.now > start)
  }
}
