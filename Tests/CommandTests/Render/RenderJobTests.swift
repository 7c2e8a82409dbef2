// A run of `render` in this process, on a renderer that is tuned as hardware is.
import Foundation
import GLPreview
import Testing

@testable import glpreview_cli

@Suite("Render's work")
struct RenderJobTests {
  /// All files of a run, by their names.
  private func render(
    _ name: String, _ transfer: FrameTransfer
  ) async throws -> [String: [UInt8]] {
    let folder = try TestFolder()
    let job = RenderJob(
      source: name, sourceOptions: SourceOptions(), decode: .exact,
      views: [
        ViewConfiguration(name: "a", width: 20, height: 16),
        ViewConfiguration(name: "b", rotation: .clockwise90, filter: .nearest),
      ],
      settings: RenderSettings(
        output: try RenderOutput(folder["{view}-{frame:03}.png"].path, source: name, format: nil),
        encoder: PictureEncoder(.png), schedule: FrameSchedule(limit: 25, every: 2), maximumPixels: 1 << 20,
        isQuiet: true))
    let device = try await GPUDevice.choose()
    let tuning = RenderTuning(
      maximumTargetSide: device.tuning.maximumTargetSide, transfer: transfer)
    let renderer = try await GLRenderer.open(on: device, tuning: tuning)
    try await job.run(
      SourceLocator(name).open(), renderer, RenderPlanner(tuning: tuning), rendererName: "test")
    await renderer.close()
    return try Dictionary(
      uniqueKeysWithValues: folder.names.map { ($0, try folder.bytes(of: $0)) })
  }

  @Test("with frames in flight every frame comes out under its number, as it does one after another")
  func framesInFlight() async throws {
    let name = "pattern:counter,size=64x48"
    let expected = try await render(name, .direct)
    #expect(expected.count == 50)
    #expect(Set(expected.filter { $0.key.hasPrefix("b") }.values).count == 25, "frames must differ")
    for framesInFlight in [1, 2, 3] {
      #expect(try await render(name, .buffered(framesInFlight: framesInFlight)) == expected)
    }
  }

  @Test("a picture's report has the GPU's time where it is known, and no word of it where it is not")
  func report() throws {
    func line(_ time: Double?) throws -> String {
      try glpreview_cli.PictureReport(
        view: "a", frame: 3, timestamp: 0.5, time: nil, ageMilliseconds: nil, transport: nil, width: 4,
        height: 2, file: nil, format: nil, bytes: nil,
        quality: nil, decodedEighths: 8, renderer: "r", frameGPUMilliseconds: time
      ).jsonLine()
    }

    #expect(
      try line(1.25)
        == #"{"decodedEighths":8,"frame":3,"frameGPUMilliseconds":1.25,"height":2,"renderer":"r","timestamp":0.5,"view":"a","width":4}"#
    )
    #expect(try !line(nil).contains("GPU"))
  }
}
