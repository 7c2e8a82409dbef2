// H.264 out of `render`: a file that our own decoder reads, with the times that were asked for.
import Foundation
import GLPreview
import Testing

@Suite("Encoded video output", .enabled("no encoder of H.264 is installed", Encoders.work))
struct EncodedVideoTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  /// The frames of a file, and their times in seconds from the first.
  private func frames(_ name: String) async throws -> (sizes: [Size], times: [Double]) {
    let source = try await SourceLocator(folder[name].path).open()
    var frames: [Frame] = []
    while let frame = try await source.nextFrame() { frames.append(frame) }
    await source.close()
    let start = try #require(frames.first).timestamp
    return (frames.map(\.format.size), frames.map { ($0.timestamp - start) / .seconds(1) })
  }

  @Test("an MP4 file keeps the source's timestamps and size")
  func times() async throws {
    let result = try await folder.render(
      "pattern:counter,size=64x48,fps=10", "--frames", "4", "-o", "a.mp4", "--json")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try result.reports.map(\.format) == ["mp4", "mp4", "mp4", "mp4"])
    let (sizes, times) = try await frames("a.mp4")
    #expect(sizes == [Size](repeating: Size(width: 64, height: 48), count: 4))
    for (time, expected) in zip(times, [0, 0.1, 0.2, 0.3]) { #expect(abs(time - expected) < 0.001) }
    #expect(try folder.names == ["a.mp4"])
  }

  @Test(
    "--every or --interval with --fps 20 writes a time-lapse with 1/20 s between frames",
    arguments: [["--every", "10"], ["--interval", "1"]])
  func timeLapse(words: [String]) async throws {
    let arguments = [
      "render", "pattern:counter,size=64x48,fps=10", "--frames", "5", "--fps", "20", "-o", "a.mp4",
    ]
    #expect(try await folder.run(arguments + words).status == 0)
    let (_, times) = try await frames("a.mp4")
    #expect(times.count == 5)
    for (index, time) in times.enumerated() { #expect(abs(time - Double(index) / 20) < 0.001) }
  }

  @Test("standard output gets fragmented MP4 or a raw H.264 stream", arguments: ["mp4", "h264"])
  func standardOutput(format: String) async throws {
    let result = try await folder.render(
      "pattern:counter,size=64x48", "--frames", "3", "-o", "-", "--format", format)
    #expect(result.status == 0, "\(result.errors)")
    try Data(result.output).write(to: folder["b.\(format)"])
    #expect(try await frames("b.\(format)").sizes.count == 3)
    if format == "mp4" {
      #expect(Data(result.output).range(of: Data("moof".utf8)) != nil)
    }
  }

  @Test("a 33x21 view is encoded as 34x22")
  func odd() async throws {
    let result = try await folder.render("pattern:smpte,size=33x21", "--frames", "2", "-o", "a.mp4")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try await frames("a.mp4").sizes == [Size](repeating: Size(width: 34, height: 22), count: 2))
  }

  @Test("a scene is encoded as video")
  func scene() async throws {
    let arguments = [
      "render", "--scene", "grid:size=64x48", "a=pattern:counter,size=32x24", "b=pattern:smpte,size=32x24",
      "--frames", "3", "-o", "a.mp4",
    ]
    let result = try await folder.run(arguments)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try await frames("a.mp4").sizes.count == 3)
  }

  @Test(
    "invalid --fps, --bitrate or --encoder values exit with 64, and nothing is written",
    arguments: [["--fps", "0"], ["--bitrate", "1"], ["--encoder", "foo"]])
  func refusals(words: [String]) async throws {
    let result = try await folder.run(["render", "pattern:smpte", "--frames", "1", "-o", "a.mp4"] + words)
    #expect(result.status == 64)
    #expect(try folder.names.isEmpty)
  }
}

/// Whether something here encodes.
private enum Encoders {
  static func work() async -> Bool {
    let picture = Picture(
      tight: Size(width: 64, height: 48), format: .ycbcr(.yuv420, .limited),
      bytes: [UInt8](repeating: 128, count: 64 * 72))
    return (try? await VideoEncoder(VideoConfiguration()).encode(picture, at: .start, isKey: true)) != nil
  }
}
