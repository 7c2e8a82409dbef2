// What libraries take to encode and to decode is reserved before they take it.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

#if FFmpeg
  @testable import CaptureFFmpeg
#endif

@Suite("Codec memory", .timeLimit(.minutes(15)))
struct CodecMemoryTests {
  // A scripted encoder tells a width in a byte.
  private static let small = Size(width: 32, height: 16)
  private static let large = Size(width: 240, height: 160)

  @Test("an encoder reserves memory while open, and releases it on a size change and on rest()")
  func encoder() async throws {
    let (budget, script) = (MemoryBudget(capacity: 1 << 30), EncoderScript())
    let encoder = script.encoder(VideoConfiguration(encoder: .x264), within: budget)

    for (time, size) in [Self.small, Self.large, Self.small].enumerated() {
      _ = try await encoder.encode(videoPicture(1, size), at: .start + .seconds(time), isKey: false)
      #expect(script.opens.last?.size == size)
      // The one before may end a moment later.
      await until { budget.reserved == script.opens.last?.byteCount }
      // Not less than what the samples of a few pictures take.
      #expect(budget.reserved > 4 * size.pixelCount * 3 / 2)
    }
    await encoder.rest()
    await until { budget.reserved == 0 && script.closes == 3 }
  }

  @Test("a size beyond the memory budget throws before an encoder opens, smaller sizes still work")
  func refusedEncoder() async throws {
    let script = EncoderScript()
    let budget = MemoryBudget(capacity: 3 << 19)
    let encoder = script.encoder(VideoConfiguration(encoder: .x264), within: budget)

    _ = try await encoder.encode(videoPicture(1, Self.small), at: .start, isKey: false)
    await #expect(throws: MemoryBudget.Exceeded.self) {
      try await encoder.encode(videoPicture(2, Self.large), at: .start + .seconds(1), isKey: false)
    }
    #expect(script.opens.map(\.size) == [Self.small])
    await until { budget.reserved == 0 }
    let sample = try await encoder.encode(
      videoPicture(3, Self.small), at: .start + .seconds(2), isKey: false)
    #expect(sample.isKey && budget.reserved > 0)
  }

  @Test("a hanging encoder keeps its memory reserved until it returns")
  func hanging() async throws {
    let (budget, script) = (MemoryBudget(capacity: 1 << 30), EncoderScript([.x264: .hang]))
    let encoder = script.encoder(
      VideoConfiguration(encoder: .x264), within: budget, stallsAfter: .milliseconds(1))

    await #expect(throws: VideoError.self) {
      try await encoder.encode(videoPicture(1, Self.small), at: .start, isKey: false)
    }
    #expect(budget.reserved > 0)
    script.release()
    await until { budget.reserved == 0 }
  }

  #if FFmpeg
    @Test(
      "a decoder reserves memory for its pictures, and fails as out of memory beyond the budget",
      .enabled(if: hasEncoder))
    func decoder() async throws {
      let size = Size(width: 1280, height: 720)
      let key = try await VideoEncoder(VideoConfiguration(encoder: .x264)).encode(
        videoPicture(90, size), at: .start, isKey: true)
      let pixels = size.pixelCount
      let budget = MemoryBudget(capacity: 32 * pixels)
      do {
        let decoder = try VideoDecoder(maximumPixels: 1 << 30, within: budget)
        #expect(budget.reserved == 0)
        let picture = try decoder.decode(key.annexB)
        #expect(picture?.size == size)
        #expect((4 * pixels * 3 / 2...32 * pixels).contains(budget.reserved))
      }
      #expect(budget.reserved == 0)

      let little = MemoryBudget(capacity: 4 * pixels)
      let refused = try VideoDecoder(maximumPixels: 1 << 30, within: little)
      let failure = #expect(throws: VideoFailure.self) { try refused.decode(key.annexB) }
      #expect(failure?.isOutOfMemory == true && little.refusals == 1 && little.reserved == 0)
    }
  #endif
}
