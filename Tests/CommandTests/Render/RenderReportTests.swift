// The lines of `render --json`.
import Testing

@testable import glpreview_cli

@Suite("JSON report of a picture")
struct RenderReportTests {
  @Test("a picture's JSON report contains the GPU time only if it is known")
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
