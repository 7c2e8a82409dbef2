// Pipes as live sources: standard input, a FIFO, a command's output. The content is the same as in a file,
// but it arrives at its own pace, and a slow reader gets the newest picture.
internal import Glibc

/// Standard input (`-`), or a FIFO or device at a path.
struct PipeDevice: CaptureDevice {
  let name: String
  private let options: SourceOptions

  init(_ path: String, _ options: SourceOptions) {
    name = path
    self.options = options
  }

  /// A writer may be slow, and opening the pipe again would not help.
  var reconnectsWhenSilent: Bool { false }

  var longestPause: Duration { .seconds(1) }

  func connect() throws -> any CaptureConnection {
    // Waits for the next writer of a FIFO, unless `givesUpAfter` is zero.
    let isOverAtEnd = name == "-" || options.live.givesUpAfter == .zero
    return PipeConnection(try ByteStream(opening: name), options, isOverAtEnd: isOverAtEnd)
  }

  /// Returns whether `path` is a stream, not a file.
  static func isStream(at path: String) -> Bool {
    var status = stat()
    guard unsafe path == "-" ? fstat(STDIN_FILENO, &status) == 0 : stat(path, &status) == 0 else {
      return false
    }
    return [S_IFIFO, S_IFSOCK, S_IFCHR].contains(status.st_mode & S_IFMT)
  }
}

/// Reads one pipe until its writer closes it.
actor PipeConnection: CaptureConnection {
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private let name: String
  private let isOverAtEnd: Bool
  private let command: ChildCommand?
  /// Nil once the first bytes have identified the format.
  private var opener: SourceOpener?
  private var source: (any FrameSource)?
  private(set) var mode = SourceStatus.Mode(format: "unknown", transport: "pipe")

  /// Creates a connection without reading. `command` is the writer, if it is a child process.
  init(
    _ stream: consuming ByteStream, _ options: SourceOptions, isOverAtEnd: Bool, command: ChildCommand? = nil
  ) {
    name = stream.path
    queue = ReadingQueue(named: stream.path)
    self.isOverAtEnd = isOverAtEnd
    self.command = command
    opener = SourceOpener(stream, options)
  }

  func next() async throws -> Capture? {
    let source = try await openSource()
    do {
      if let capture = try await nextCapture(source) { return capture }
    } catch let error as SourceError where error.kind == .badData {
      throw DamagedCapture(error.reason)
    }
    if let command, let failure = await command.failure() {
      throw SourceError(.unavailable, path: name, reason: failure)
    }
    guard isOverAtEnd else {
      throw SourceError(.unavailable, path: name, reason: "was closed by its writer")
    }
    return nil
  }

  func close() async {
    (opener, source) = (nil, nil)
    await command?.stop()
  }

  private func openSource() async throws -> any FrameSource {
    if let source { return source }
    guard let opener else { throw CancellationError() }
    let source = try await opener.open()
    (self.opener, self.source) = (nil, source)
    mode.format = Self.format(of: source)
    mode.framesPerSecond = await source.framesPerSecond
    return source
  }

  private func nextCapture(_ source: any FrameSource) async throws -> Capture? {
    if let pictures = source as? MJPEGSource { return try await pictures.nextCapture() }
    guard let frame = try await source.nextFrame() else { return nil }
    mode.size = frame.format.size
    return Capture(frame.with(timestamp: CaptureClock.now))
  }

  private static func format(of source: any FrameSource) -> String {
    switch source {
    case is MJPEGSource: "MJPEG"
    case is Y4MSource: "Y4M"
    case is RawVideoSource: "raw"
    default: "picture"
    }
  }
}

/// `exec:COMMAND`. The command is restarted when it ends, unless `givesUpAfter` is zero.
struct CommandDevice: CaptureDevice {
  let name: String
  private let command: String
  private let options: SourceOptions

  init(_ name: String, _ options: SourceOptions) throws(SourceError) {
    self.options = options
    command = String(name.dropFirst("exec:".count))
    self.name = Redaction.source(name)
    guard !command.allSatisfy(\.isWhitespace), !command.utf8.contains(0) else {
      throw SourceError(.badRequest, path: self.name, reason: "exec: needs a command")
    }
  }

  func connect() throws -> any CaptureConnection {
    let (child, output) = try ChildCommand.start(command, named: name)
    let stream = try ByteStream(output, path: name)
    return PipeConnection(stream, options, isOverAtEnd: options.live.givesUpAfter == .zero, command: child)
  }
}
