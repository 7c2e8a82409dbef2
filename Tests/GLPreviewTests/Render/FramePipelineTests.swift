// Fences that are not passed: an error in bounded time, and nothing left behind.
import Testing

@testable import GLPreview

@Suite struct FramePipelineTests {
  /// Answers in place of a GPU, and how long it was asked to wait for each.
  private final class Answers {
    var answers: [Result<Fence.State, GLError>]
    var limits: [Duration] = []

    init(_ answers: [Result<Fence.State, GLError>]) { self.answers = answers }

    func next(_ limit: Duration) throws(GLError) -> Fence.State {
      limits.append(limit)
      return try answers.removeFirst().get()
    }
  }

  /// What came of one frame for each answer, all of which were in flight together.
  private func finish(_ answers: Answers) throws -> [GLError?] {
    let pipeline = FramePipeline(capacity: 3, PassClock(isWanted: false)) { _, limit throws(GLError) in
      try answers.next(limit)
    }
    let numbers = try answers.answers.map { _ in
      try pipeline.submit(pipeline.code([]), of: [], pipeline.upload(), nil)
    }
    #expect(GLLedger.livingOnThisThread[.fence] == numbers.count)
    return numbers.map { number in
      do throws(GLError) {
        let drawn = try pipeline.finish(number)
        #expect(drawn?.pictures == [])
        return nil
      } catch {
        return error
      }
    }
  }

  @Test(
    "a GPU hang times out, later frames fail without waiting, and rendering recovers"
  )
  func hangs() async throws {
    try await withContext {
      let answers = Answers([
        .success(.done), .success(.pending), .success(.pending), .success(.done), .success(.done),
      ])

      let errors = try finish(answers)

      #expect(answers.limits[0] > .seconds(1))
      #expect(answers.limits == [answers.limits[0], answers.limits[0], .zero, .zero, answers.limits[0]])
      let error = GLError("drawing a frame", .timeout(answers.limits[0]))
      #expect(errors == [nil, error, error, nil, nil])
      #expect(error.description == "drawing a frame: the GPU was not done after 30.0 seconds")
      #expect(GLLedger.livingOnThisThread == [.context: 1])
    }
  }

  @Test("a frame submitted after a timeout gets its full timeout")
  func goesOn() async throws {
    try await withContext {
      let answers = Answers([.success(.pending), .success(.pending), .success(.done)])
      let pipeline = FramePipeline(capacity: 3, PassClock(isWanted: false)) { _, limit throws(GLError) in
        try answers.next(limit)
      }

      let first = try (0..<2).map { _ in
        try pipeline.submit(pipeline.code([]), of: [], pipeline.upload(), nil)
      }
      #expect(throws: GLError.self) { try pipeline.finish(first[0]) }
      let later = try pipeline.submit(pipeline.code([]), of: [], pipeline.upload(), nil)
      #expect(throws: GLError.self) { try pipeline.finish(first[1]) }
      #expect(try pipeline.finish(later) != nil)

      #expect(answers.limits == [answers.limits[0], .zero, answers.limits[0]])
      #expect(answers.limits[0] > .seconds(1))
    }
  }

  @Test("a lost fence fails only its own frame and leaks nothing")
  func lost() async throws {
    try await withContext {
      let error = GLError("waiting for a fence", .flag(0x0507))
      let errors = try finish(Answers([.failure(error), .success(.done)]))
      #expect(errors == [error, nil])
      #expect(error.description == "waiting for a fence: GL_CONTEXT_LOST")
      #expect(GLLedger.livingOnThisThread == [.context: 1])
    }
  }

  @Test("frames can be finished in any order, each once")
  func order() async throws {
    try await withContext {
      let pipeline = FramePipeline(capacity: 3, PassClock(isWanted: false))
      let numbers = try (0..<3).map { _ in
        try pipeline.submit(pipeline.code([]), of: [], pipeline.upload(), nil)
      }

      #expect(Set(numbers).count == 3)
      for number in numbers.reversed() { #expect(try pipeline.finish(number) != nil) }
      #expect(try pipeline.finish(numbers[0]) == nil)

      // Their buffers are kept for the next frames, their fences are not.
      #expect(GLLedger.livingOnThisThread[.pixelBuffer] == 3)
      #expect(GLLedger.livingOnThisThread[.fence] == nil)
    }
  }
}
