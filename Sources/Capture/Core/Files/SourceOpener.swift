// Detects the format of a file or a stream from its first bytes, because names can be wrong.

/// Opens the data of one descriptor. An actor with a thread of its own, so that waiting for a pipe's writer
/// blocks no other.
package actor SourceOpener {
  package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private let path: String
  private let options: SourceOptions
  /// Nil once it has been opened.
  private var stream: ByteStream?

  /// Opens a file without a known signature as a video; `name` is for messages.
  package typealias OpenVideo =
    @Sendable (_ path: String, SourceOptions, _ name: String) throws(SourceError) -> any FrameSource

  private let openVideo: OpenVideo?

  init(_ stream: consuming ByteStream, _ options: SourceOptions, openVideo: OpenVideo? = nil) {
    path = stream.path
    self.openVideo = openVideo
    queue = ReadingQueue(named: stream.path)
    self.options = options
    self.stream = consume stream
  }

  /// Waits for the first bytes, and opens the source that they identify. Call it once.
  func open() throws -> any FrameSource {
    guard var stream = stream.take() else { throw CancellationError() }
    guard try !stream.peek(1).isEmpty else { throw SourceError(.badData, path: path, reason: "is empty") }
    if let format = options.inputFormat { return try openRaw(stream, format) }

    let start = try stream.peek(16)
    if start.starts(with: Y4MHeader.signature) { return try Y4MSource(stream, options) }
    let unsupported = UnsupportedFormat(startingWith: start)
    // Files of other formats contain JPEGs too, as thumbnails.
    guard unsupported == nil, let picture = try findPicture(in: &stream) else {
      return try openVideo(isFile: stream.isRegularFile, unless: unsupported)
    }
    stream.skip(picture.offset)
    if picture.format == .png { return try ImageFileSource(.png, stream, options) }
    if isNamed(".mjpeg", ".mjpg") { return MJPEGSource(MJPEGReader(stream, options), options) }
    // In such a file, data after the picture is not another frame.
    if isNamed(".jpg", ".jpeg"), stream.isRegularFile { return try ImageFileSource(.jpeg, stream, options) }
    return try openJPEGs(stream)
  }

  /// Finds the first picture. A stream, or a recording of one, may begin in the middle of a picture or with
  /// the header of a part. A picture may have stray bytes before it. Other files are not searched: they may
  /// be videos, in which JPEG signatures can occur anywhere.
  private func findPicture(in stream: inout ByteStream) throws -> PictureStart? {
    let first = try stream.peek(16)
    if PictureStart.isAtStart(of: first[...]) == true { return PictureStart(in: first[...]) }
    let isRun = !stream.isRegularFile || isNamed(".mjpeg", ".mjpg")
    guard isRun || isNamed(".jpg", ".jpeg", ".png") else { return nil }
    return try stream.search(limit: isRun ? PictureStart.searchLimit : 4096) { bytes, seen in
      PictureStart.search(in: bytes, from: max(seen - PictureStart.overlap, 0))
    }
  }

  /// Opens data without a known signature as a video, or throws.
  private func openVideo(isFile: Bool, unless unsupported: UnsupportedFormat?) throws(SourceError)
    -> any FrameSource
  {
    do throws(SourceError) {
      guard isFile else { throw refusal("is not a JPEG, PNG or Y4M, and videos are read from files only") }
      guard let open = openVideo else {
        throw refusal(
          "is not a JPEG, PNG or Y4M, and this build can't read videos: it was built without FFmpeg")
      }
      return try open(path == "-" ? "/dev/stdin" : path, options, path)
    } catch {
      throw unsupported.map { SourceError(.badData, path: path, reason: $0.refusal) } ?? error
    }
  }

  /// The end of the error message for data that may be raw frames.
  package static let rawAdvice = "raw frames need --input-format and --input-size"

  private func refusal(_ reason: String) -> SourceError {
    SourceError(.badData, path: path, reason: "\(reason); \(Self.rawAdvice)")
  }

  private func openRaw(_ stream: consuming ByteStream, _ format: PixelFormat) throws -> any FrameSource {
    guard let size = options.inputSize else {
      throw SourceError(.badRequest, path: path, reason: "raw \(format) frames need a size (--input-size)")
    }
    return try RawVideoSource(stream, format, size, options)
  }

  /// Opens JPEGs of a stream as frames. If the first one declares further pictures as its parts, as photos
  /// from phones do, it is opened as a still.
  private func openJPEGs(_ stream: consuming ByteStream) throws -> any FrameSource {
    var pictures = MJPEGReader(stream, options)
    guard let first = try pictures.next() else {
      throw SourceError(.badData, path: path, reason: "is not a JPEG")
    }
    if let header = try? JPEGDecoder.header(of: first), header.hasMultiPicture {
      return try ImageFileSource(.jpeg, first, name: path, options)
    }
    return MJPEGSource(pictures, first: first, options)
  }

  private func isNamed(_ endings: String...) -> Bool {
    let name = path.lowercased()
    return endings.contains { name.hasSuffix($0) }
  }
}
