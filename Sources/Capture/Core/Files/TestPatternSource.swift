// Generated pictures for trials without a camera: endless, and identical on every machine.
internal import Glibc

actor TestPatternSource: FrameSource {
  nonisolated let name: String
  private let pattern: TestPattern
  private let format: Frame.Format
  private let rate: FrameRate
  private let memory: FramePool
  /// The drawn picture, for a pattern whose frames are all identical.
  private var still: FrameBytes?
  private var sequence = 0

  /// Reads `NAME[,size=WxH][,fps=N]`. Its size and rate override those of `options`.
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
        do { size = try ParameterParser.size("size", value) } catch { throw badRequest(error.description) }
      case ("fps", let value):
        guard let asked = Double(value).flatMap({ FrameRate($0) }) else {
          throw badRequest("fps=\(value) is not within 0.001...1000")
        }
        rate = asked
      default: throw badRequest("\"\(word)\" is not a setting: use size=WxH or fps=N")
      }
    }
    if let refusal = size.refusal(maximumPixels: options.maximumPixels) { throw badRequest(refusal) }
    self.pattern = pattern
    self.rate = rate
    format = Frame.Format(.rgbx, size, color: .jfif)
    memory = options.memory ?? FramePool()
  }

  func nextFrame() throws -> Frame? {
    defer { sequence += 1 }
    let bytes = try still ?? draw()
    if pattern.isStill { still = bytes }
    return try Frame(tight: format, storage: bytes, sequence: sequence, timestamp: rate.time(of: sequence))
  }

  private func draw() throws(MemoryBudget.Exceeded) -> FrameBytes {
    let buffer = try memory.take(format.size.pixelCount * 4)
    buffer.withMutableSpan { pattern.draw(format.size, frame: sequence, into: &$0) }
    return FrameBytes(buffer)
  }

  var framesPerSecond: Double? { rate.framesPerSecond }

  func rewind() { sequence = 0 }
}

/// A generated picture, as rows of R, G, B, A bytes.
enum TestPattern: String, Sendable, CaseIterable {
  /// Colour bars after SMPTE ECR 1-1978: 75% bars, castellations, -I, white, +Q and PLUGE.
  case smpte
  /// Four bands that get brighter from left to right: red, green, blue, grey.
  case gradient
  /// Circles whose frequency rises with the distance from the centre, up to the Nyquist frequency at the edge
  /// of the longer side.
  case zoneplate
  /// The frame's number in large digits.
  case counter

  var isStill: Bool { self != .counter }

  /// Draws the whole picture into `bytes`, `size.width * 4` bytes a row.
  func draw(_ size: Size, frame: Int, into bytes: inout MutableSpan<UInt8>) {
    switch self {
    case .smpte: Self.fill(&bytes, size) { x, y in Self.smpte(x, y, size) }
    case .gradient: Self.fill(&bytes, size) { x, y in Self.gradient(x, y, size) }
    case .zoneplate: Self.fill(&bytes, size) { x, y in Self.zoneplate(x, y, size) }
    case .counter: Self.fill(&bytes, size, Self.counter(frame, size))
    }
  }

  private static func fill(
    _ bytes: inout MutableSpan<UInt8>, _ size: Size, _ color: (_ x: Int, _ y: Int) -> RGBColor
  ) {
    var offset = 0
    for y in 0..<size.height {
      for x in 0..<size.width {
        let color = color(x, y)
        bytes[offset] = color.red
        bytes[offset + 1] = color.green
        bytes[offset + 2] = color.blue
        bytes[offset + 3] = 255
        offset += 4
      }
    }
  }

  private static func grey(_ code: UInt8) -> RGBColor { RGBColor(red: code, green: code, blue: code) }

  // MARK: - smpte

  private static let threeQuarters: UInt8 = 191
  private static let bars = [7, 6, 3, 2, 5, 4, 1].map(bar)
  private static let castellations = [1, 0, 5, 0, 3, 0, 7].map(bar)
  // -I and +Q at 20% chroma with no luma; values below black are clipped.
  private static let minusI = RGBColor(red: 0, green: 33, blue: 76)
  private static let plusQ = RGBColor(red: 50, green: 0, blue: 106)
  // Full range has no codes below black, so PLUGE's first step is black too. Its third step is 4% above
  // black.
  private static let pluge = [grey(0), grey(0), grey(10)]

  /// Returns a bar with 75% of red (4), green (2) and blue (1).
  private static func bar(_ channels: Int) -> RGBColor {
    RGBColor(
      red: channels & 4 == 0 ? 0 : threeQuarters, green: channels & 2 == 0 ? 0 : threeQuarters,
      blue: channels & 1 == 0 ? 0 : threeQuarters)
  }

  private static func smpte(_ x: Int, _ y: Int, _ size: Size) -> RGBColor {
    let column = x * 7 / size.width
    if y * 3 < size.height * 2 { return bars[column] }
    if y * 4 < size.height * 3 { return castellations[column] }
    // Four fields share the width of five bars. PLUGE's three steps are the sixth bar; the seventh is black.
    let field = x * 28 / (size.width * 5)
    switch field {
    case 0: return minusI
    case 1: return grey(255)
    case 2: return plusQ
    case 3: return .black
    default:
      let step = (x * 21 - size.width * 15) / size.width
      return pluge.indices.contains(step) ? pluge[step] : .black
    }
  }

  // MARK: - gradient, zoneplate

  private static func gradient(_ x: Int, _ y: Int, _ size: Size) -> RGBColor {
    let last = max(size.width - 1, 1)
    let code = UInt8((x * 255 + last / 2) / last)
    return switch y * 4 / size.height {
    case 0: RGBColor(red: code, green: 0, blue: 0)
    case 1: RGBColor(red: 0, green: code, blue: 0)
    case 2: RGBColor(red: 0, green: 0, blue: code)
    default: grey(code)
    }
  }

  private static func zoneplate(_ x: Int, _ y: Int, _ size: Size) -> RGBColor {
    let dx = Double(x) + 0.5 - Double(size.width) / 2
    let dy = Double(y) + 0.5 - Double(size.height) / 2
    // At `radius`, the derivative of the phase with respect to the radius is pi per pixel, the highest
    // possible frequency.
    let radius = Double(max(size.width, size.height)) / 2
    let phase = Double.pi * (dx * dx + dy * dy) / (2 * radius)
    return grey(UInt8((127.5 + 127.5 * cos(phase)).rounded()))
  }

  // MARK: - counter

  private static let paper = RGBColor(red: 38, green: 50, blue: 56)
  private static let ink = RGBColor(red: 236, green: 239, blue: 241)

  /// Bitmaps of five columns by seven rows. The leftmost column is bit 4 (16).
  private static let digits: [[UInt8]] = [
    [14, 17, 19, 21, 25, 17, 14],
    [4, 12, 4, 4, 4, 4, 14],
    [14, 17, 1, 2, 4, 8, 31],
    [31, 2, 4, 2, 1, 17, 14],
    [2, 6, 10, 18, 31, 2, 2],
    [31, 16, 30, 1, 1, 17, 14],
    [6, 8, 16, 30, 17, 17, 14],
    [31, 1, 2, 4, 8, 8, 8],
    [14, 17, 17, 14, 17, 17, 14],
    [14, 17, 17, 15, 1, 2, 12],
  ]

  /// Draws at least four digits, centred and as large as fits.
  private static func counter(_ frame: Int, _ size: Size) -> (_ x: Int, _ y: Int) -> RGBColor {
    let glyphs = frame.digits(4).compactMap(\.wholeNumberValue).map { digits[$0] }
    // A cell is a digit and one column of background. There is one more column at the left, and one row above
    // and below.
    let columns = glyphs.count * 6 - 1
    let scale = max(min(size.width / (columns + 2), size.height / 9), 1)
    let left = (size.width - columns * scale) / 2
    let top = (size.height - 7 * scale) / 2
    return { x, y in
      let column = (x - left) / scale, row = (y - top) / scale
      guard x >= left, y >= top, column < columns, row < 7 else { return paper }
      let bits = glyphs[column / 6][row]
      return column % 6 < 5 && bits >> (4 - column % 6) & 1 == 1 ? ink : paper
    }
  }
}
