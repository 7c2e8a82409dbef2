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
  /// How the shell ended, with a status or by a signal; nil while it runs.
  private var end: (status: CInt, isSignal: Bool)?

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
    running.withLock { _ = $0.insert(id) }
    return (ChildCommand(id, named: name), ends[0])
  }

  /// Why it ended, where that was no success: its output is at its end, so that is soon.
  func failure() -> String? {
    waitForEnd(upTo: .milliseconds(300))
    guard let end, end.status != 0 || end.isSignal else { return nil }
    return end.isSignal ? "was ended by signal \(end.status)" : "ended with status \(end.status)"
  }

  /// Ends it and all that it has started: politely, and after 0.3 seconds for good.
  func stop() {
    guard Self.running.withLock({ $0.contains(id) }) else { return }
    kill(-id, SIGTERM)
    waitForEnd(upTo: .milliseconds(300))
    // Also where the shell is gone and what it started is not. The shell is still ours, so that the number is nobody else's.
    kill(-id, SIGKILL)
    waitForEnd(upTo: .milliseconds(100))
    Self.running.withLock { _ = $0.remove(id) }
    _ = waitpid(id, nil, WNOHANG)
  }

  /// Those that were not stopped yet, for who is about to end the process.
  private static let running = Mutex<Set<pid_t>>([])

  /// Ends all commands at once.
  static func killAll() {
    for id in running.withLock({ $0 }) { kill(-id, SIGKILL) }
  }

  /// Looks, and leaves the shell's number taken.
  private func waitForEnd(upTo limit: Duration) {
    let deadline = CaptureClock.now + limit
    while end == nil {
      var info = unsafe siginfo_t()
      if unsafe waitid(P_PID, id_t(id), &info, WEXITED | WNOHANG | WNOWAIT) != 0 {
        end = (0, false)
      } else if unsafe info.si_signo == SIGCHLD {
        let status = unsafe info._sifields._sigchld.si_status
        end = unsafe (status, info.si_code != CInt(CLD_EXITED))
      }
      guard end == nil, CaptureClock.now < deadline else { return }
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
