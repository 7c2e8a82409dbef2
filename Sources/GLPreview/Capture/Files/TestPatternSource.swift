// Generated pictures for trials without a camera: endless, and the same on every machine.
internal import PreviewCore

/// Repeats a test pattern endlessly.
actor TestPatternSource: FrameSource {
  nonisolated let name: String
  private let pattern: TestPattern
  private let format: FrameFormat
  private let rate: FrameRate
  private let memory: FramePool
  /// The picture of a pattern whose frames are all the same.
  private var still: FrameBytes?
  private var sequence = 0

  /// Reads `NAME[,size=WxH][,fps=N]`, which overrides `options`.
  init(_ text: Substring, _ options: SourceOptions) throws(SourceError) {
    name = "pattern:\(text)"
    func badRequest(_ reason: String) -> SourceError {
      SourceError(.badRequest, path: "pattern:\(text)", reason: reason)
    }
    let words = text.split(separator: ",", omittingEmptySubsequences: false)
    guard let pattern = words.first.flatMap({ TestPattern(rawValue: String($0)) }) else {
      let names = TestPattern.allCases.map(\.rawValue).joined(separator: ", ")
      throw badRequest("no such pattern; there are \(names)")
    }
    var size = options.inputSize ?? Size(width: 1280, height: 720)
    var rate = options.framesPerSecond.flatMap { FrameRate($0) } ?? .usual
    for word in words.dropFirst() {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      switch (parts[0], parts.count == 2 ? parts[1] : "") {
      case ("size", let value):
        do { size = try Words.size("size", value) } catch { throw badRequest(error.description) }
      case ("fps", let value):
        guard let asked = Double(value).flatMap({ FrameRate($0) }) else {
          throw badRequest("fps=\(value) is not within 0.001...1000")
        }
        rate = asked
      default: throw badRequest("\"\(word)\" is neither size=WxH nor fps=N")
      }
    }
    do throws(CodecError) {
      try CodecError.checkSize(size, maximumPixels: options.maximumPixels)
    } catch {
      throw badRequest(error.description)
    }
    self.pattern = pattern
    self.rate = rate
    format = FrameFormat(.rgbx, size, color: .jfif)
    memory = options.memory ?? FramePool()
  }

  func nextFrame() throws -> Frame? {
    defer { sequence += 1 }
    let bytes = try still ?? draw()
    if pattern.isStill { still = bytes }
    return try Frame(
      tight: format, storage: bytes, sequence: sequence, timestamp: rate.time(of: sequence))
  }

  private func draw() throws(MemoryBudget.Exceeded) -> FrameBytes {
    let buffer = try memory.take(format.size.pixelCount * 4)
    buffer.withMutableSpan { pattern.draw(format.size, frame: sequence, into: &$0) }
    return FrameBytes(buffer)
  }

  var framesPerSecond: Double? { rate.framesPerSecond }

  func rewind() { sequence = 0 }
}
