// A still picture: a source of one frame. It is decoded when it is opened, so that errors are reported then.

actor ImageFileSource: FrameSource {
  nonisolated let name: String
  private let frame: Frame
  private var isGiven = false

  enum Format {
    case jpeg
    case png
  }

  /// Decodes the remaining bytes of `stream`.
  init(_ format: Format, _ stream: consuming ByteStream, _ options: SourceOptions) throws {
    // Uncompressed samples take at most 8 bytes a pixel, and metadata at most a few megabytes.
    let pixels = min(options.maximumPixels, 1 << 40)
    let lease: MemoryLease?
    let bytes: [UInt8]?
    do {
      lease = try options.memory?.budget?.reserve(0)
      bytes = try stream.readAll(limit: 8 * pixels + 64 << 20, holding: lease)
    } catch let error as MemoryBudget.Exceeded {
      throw SourceError(decoding: error, path: stream.path, reason: error.description)
    }
    guard let bytes else {
      throw SourceError(.badData, path: stream.path, reason: "is larger than any picture within the limits")
    }
    try self.init(format, bytes, name: stream.path, options)
    withExtendedLifetime(lease) {}
  }

  init(_ format: Format, _ bytes: [UInt8], name: String, _ options: SourceOptions) throws(SourceError) {
    self.name = name
    let bytes = PictureStart.trimmed(bytes)
    do throws(CodecError) {
      let decoded =
        switch format {
        case .jpeg:
          try JPEGDecoder.decode(
            bytes, maximumPixels: options.maximumPixels, decoding: options.decoding, memory: options.memory)
        case .png:
          try PNGDecoder.decode(bytes, maximumPixels: options.maximumPixels, memory: options.memory)
        }
      frame = decoded.with(color: options.color)
    } catch {
      throw SourceError(decoding: error, path: name, reason: error.description)
    }
  }

  func nextFrame() -> Frame? {
    defer { isGiven = true }
    return isGiven ? nil : frame
  }

  func rewind() { isGiven = false }
}
