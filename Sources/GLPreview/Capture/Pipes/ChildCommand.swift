// A shell command of the user's whose output is a source. It is our child: it gets no other descriptor of ours, and it does
// not outlive us.
internal import Glibc
internal import Synchronization

/// A command that runs.
actor ChildCommand {
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  /// One at a time: a command that starts while another's pipe is not yet marked as ours would keep it open.
  private static let starting = Mutex(())
  private let id: pid_t
  /// As `waitpid` gave it; nil while it runs.
  private var status: CInt?

  private init(_ id: pid_t, named name: String) {
    self.id = id
    queue = ReadingQueue(named: name)
  }

  /// Runs `command` by the shell, in a process group of its own, with nothing on its standard input; its messages go to our
  /// standard error.
  ///
  /// - Returns: the command, and the end of the pipe from which its output is read.
  static func start(_ command: String, named name: String) throws(SourceError) -> (
    command: ChildCommand, output: CInt
  ) {
    var ends: [CInt] = [-1, -1]
    var id: pid_t = 0
    let code = starting.withLock { _ -> CInt in
      guard unsafe pipe(&ends) == 0 else { return errno }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      return unsafe spawn(command, output: ends[1], &id)
    }
    _ = close(ends[1])
    guard code == 0 else {
      _ = close(ends[0])
      throw failure(name, code)
    }
    return (ChildCommand(id, named: name), ends[0])
  }

  /// Why it ended, where that was no success: its output is at its end, so that is soon.
  func failure() -> String? {
    wait(upTo: .milliseconds(300))
    guard let status, status != 0 else { return nil }
    let signal = status & 0x7F
    return signal == 0 ? "ended with status \((status >> 8) & 0xFF)" : "was ended by signal \(signal)"
  }

  /// Ends it and all that it has started: politely, and after 0.3 seconds for good.
  func end() {
    guard status == nil else { return }
    kill(-id, SIGTERM)
    wait(upTo: .milliseconds(300))
    // Also where the shell is gone and what it started is not.
    kill(-id, SIGKILL)
    wait(upTo: .milliseconds(100))
  }

  private func wait(upTo limit: Duration) {
    let end = CaptureClock.now + limit
    while status == nil {
      var result: CInt = 0
      if unsafe waitpid(id, &result, WNOHANG) != 0 { status = result }
      guard status == nil, CaptureClock.now < end else { return }
      usleep(5000)
    }
  }

  /// Zero, or an error's number.
  @unsafe private static func spawn(_ command: String, output: CInt, _ id: inout pid_t) -> CInt {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { _ = unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)

    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { _ = unsafe posix_spawnattr_destroy(&attributes) }
    // Our threads block and ignore signals of which the command should know nothing.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe sigaddset(&signals, SIGINT)
    unsafe sigaddset(&signals, SIGTERM)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    unsafe posix_spawnattr_setpgroup(&attributes, 0)

    var words: [UnsafeMutablePointer<CChar>?] = unsafe [
      strdup("/bin/sh"), strdup("-c"), strdup(command), nil,
    ]
    defer { unsafe words.forEach { unsafe free($0) } }
    return unsafe posix_spawn(&id, "/bin/sh", &actions, &attributes, &words, environ)
  }

  private static func failure(_ name: String, _ code: CInt) -> SourceError {
    SourceError(.unavailable, path: name, reason: unsafe String(cString: strerror(code)))
  }
}

/// `exec:COMMAND`: run again when it ends, for who has patience.
struct CommandDevice: CaptureDevice {
  let name: String
  private let command: String
  private let options: SourceOptions

  init(_ name: String, _ options: SourceOptions) throws(SourceError) {
    self.name = name
    self.options = options
    command = String(name.dropFirst("exec:".count))
    guard command.contains(where: { !$0.isWhitespace }), !command.utf8.contains(0) else {
      throw SourceError(.badRequest, path: name, reason: "exec: needs a command")
    }
  }

  func connect() throws -> any CaptureConnection {
    let (child, output) = try ChildCommand.start(command, named: name)
    let stream = try ByteStream(owning: output, path: name)
    return PipeConnection(
      stream, options, isOverAtEnd: options.live.givesUpAfter == .zero, command: child)
  }
}
