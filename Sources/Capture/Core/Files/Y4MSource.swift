// YUV4MPEG2, the format in which video tools pipe frames to each other: a line of text, then for each frame a
// line that begins with FRAME, followed by the planes. The format is defined by mjpegtools (yuv4mpeg(5)). C
// and X tags follow FFmpeg.

struct Y4MHeader: Sendable, Hashable {
  let format: Frame.Format
  let rate: FrameRate
  /// Bits per sample, 8 to 16. Samples of more than 8 bits are little-endian 16-bit words.
  let bits: Int
  /// The bytes of a frame, without its FRAME line.
  let byteCount: Int

  /// The longest allowed line, in bytes. Real headers stay below 150.
  static let lineLimit = 1024
  static let signature = Array("YUV4MPEG2 ".utf8)

  /// Parses the first line, without its newline.
  init(parsing line: [UInt8], _ options: SourceOptions) throws(ParameterError) {
    var width: Int?
    var height: Int?
    var rate: FrameRate?
    var chroma = "420jpeg"
    var range: ColorDescription.QuantizationRange?
    let tags = line.split(separator: UInt8(ascii: " "))
    guard tags.first?.elementsEqual(Self.signature.dropLast()) == true else {
      throw ParameterError("not a Y4M")
    }
    for tag in tags.dropFirst() {
      let value = String(decoding: tag.dropFirst(), as: UTF8.self)
      switch tag.first {
      case UInt8(ascii: "W"): width = try Self.side(value, "W")
      case UInt8(ascii: "H"): height = try Self.side(value, "H")
      case UInt8(ascii: "F"): rate = try Self.rate(value)
      case UInt8(ascii: "C"): chroma = value
      case UInt8(ascii: "X"): range = Self.range(value) ?? range
      // I (interlacing), A (pixel aspect) and unknown tags are ignored.
      default: break
      }
    }
    guard let width, let height else { throw ParameterError("Y4M header has no \(width == nil ? "W" : "H")") }
    let size = Size(width: width, height: height)
    if let refusal = size.refusal(maximumPixels: options.maximumPixels) { throw ParameterError(refusal) }
    let (pixelFormat, bits, siting) = try Self.layout(chroma)
    guard let byteCount = pixelFormat.tightByteCount(of: size) else {
      throw ParameterError("frames of \(size) are too large")
    }
    let color = ColorDescription(guessedFor: size, matrix: nil, range: range, siting: siting)
    self.format = Frame.Format(pixelFormat, size, color: color).overriding(options.color)
    self.rate = rate ?? options.framesPerSecond.flatMap { FrameRate($0) } ?? .usual
    self.bits = bits
    self.byteCount = bits > 8 ? 2 * byteCount : byteCount
  }

  private static func side(_ text: String, _ tag: String) throws(ParameterError) -> Int {
    guard let side = decimal(text), side > 0 else {
      throw ParameterError("Y4M header has a bad \(tag): \"\(text)\"")
    }
    return side
  }

  /// Parses `30000:1001`; `0:0` means unknown.
  private static func rate(_ text: String) throws(ParameterError) -> FrameRate? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let numerator = decimal(parts[0]), let denominator = decimal(parts[1]) else {
      throw ParameterError("Y4M header has a bad F: \"\(text)\"")
    }
    return FrameRate(numerator: numerator, denominator: denominator)
  }

  /// Parses one to nine digits.
  private static func decimal(_ text: some StringProtocol) -> Int? {
    guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Int(text)
  }

  private static func range(_ tag: String) -> ColorDescription.QuantizationRange? {
    switch tag {
    case "COLORRANGE=FULL": .full
    case "COLORRANGE=LIMITED": .limited
    default: nil
    }
  }

  private static func layout(_ chroma: String) throws(ParameterError) -> (
    PixelFormat, bits: Int, ColorDescription.ChromaSiting
  ) {
    switch chroma {
    case "420", "420jpeg": return (.i420, 8, .centred)
    // 420paldv has Cb and Cr on alternate lines; that half-line offset is ignored.
    case "420mpeg2", "420paldv": return (.i420, 8, .left)
    case "411": return (.yuv411p, 8, .left)
    default: break
    }
    let formats: [(name: String, PixelFormat)] = [
      ("420", .i420), ("422", .yuv422p), ("444", .yuv444p), ("mono", .grey),
    ]
    for (name, format) in formats {
      if chroma == name { return (format, 8, .left) }
      // 420p10, mono10: as FFmpeg, x265 and aomdec write them. They do not state the chroma siting.
      let stem = format == .grey ? name : name + "p"
      guard chroma.hasPrefix(stem), let bits = decimal(chroma.dropFirst(stem.count)),
        [9, 10, 12, 14, 16].contains(bits)
      else { continue }
      return (format, bits, .left)
    }
    throw ParameterError(
      "Y4M of \"\(chroma)\" is not supported: use 420, 420jpeg, 420mpeg2, 420paldv, 422, 411, 444, mono, or these with up to 16 bits, such as 420p10"
    )
  }
}

actor Y4MSource: FrameSource {
  nonisolated let name: String
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private let header: Y4MHeader
  private let memory: FramePool
  /// The memory for frames of more than 8 bits, as they are read.
  private let wideMemory: FramePool
  private var stream: ByteStream
  private var sequence = 0
  /// Whether a frame was damaged: the start of the next one is then unknown.
  private var isLost = false

  init(_ stream: consuming ByteStream, _ options: SourceOptions) throws {
    var stream = stream
    guard let line = try stream.readLine(limit: Y4MHeader.lineLimit) else {
      throw SourceError(.badData, path: stream.path, reason: "Y4M header has no end")
    }
    do throws(ParameterError) {
      header = try Y4MHeader(parsing: line, options)
    } catch {
      throw SourceError(.badData, path: stream.path, reason: error.description)
    }
    name = stream.path
    memory = options.memory ?? FramePool()
    wideMemory = FramePool(budget: options.memory?.budget)
    queue = ReadingQueue(named: stream.path)
    self.stream = stream
  }

  func nextFrame() throws -> Frame? {
    guard !isLost, try !stream.peek(1).isEmpty else { return nil }
    guard let line = try stream.readLine(limit: Y4MHeader.lineLimit),
      line.starts(with: "FRAME".utf8), line.count == 5 || line[5] == UInt8(ascii: " ")
    else { throw badFrame("does not begin with FRAME") }
    let isWide = header.bits > 8
    let (bytes, count) = try stream.readFrame(header.byteCount, isWide ? wideMemory : memory)
    guard count == header.byteCount else {
      throw badFrame("is cut short: \(count) of \(header.byteCount) bytes")
    }
    defer { sequence += 1 }
    return try Frame(
      tight: header.format, storage: isWide ? try narrowed(bytes) : bytes, sequence: sequence,
      timestamp: header.rate.time(of: sequence))
  }

  /// Reduces samples of more than 8 bits to 8, as for decoded videos.
  private func narrowed(_ bytes: FrameBytes) throws -> FrameBytes {
    let (format, size) = (header.format, header.format.size)
    let buffer = try memory.take(header.byteCount / 2)
    bytes.withSpan { words in
      buffer.withMutableSpan { codes in
        var start = 0
        for (index, plane) in format.pixelFormat.planes.enumerated() {
          let narrowing = SampleNarrowing(bits: header.bits, isChroma: index > 0, format.color.range)
          let end = start + plane.tightBytesPerRow(of: size) * plane.texels(of: size).height
          for sample in start..<end {
            codes[sample] = narrowing.code(
              of: UInt16(words[2 * sample]) | UInt16(words[2 * sample + 1]) << 8)
          }
          start = end
        }
      }
    }
    return FrameBytes(buffer)
  }

  var framesPerSecond: Double? { header.rate.framesPerSecond }

  func rewind() throws {
    try stream.rewind()
    _ = try stream.readLine(limit: Y4MHeader.lineLimit)
    sequence = 0
    isLost = false
  }

  private func badFrame(_ reason: String) -> SourceError {
    isLost = true
    return SourceError(.badData, path: name, reason: "frame \(sequence) \(reason)")
  }
}
