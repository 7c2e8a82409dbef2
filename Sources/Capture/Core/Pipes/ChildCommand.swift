// Runs a user's shell command whose output is a source. The child inherits no descriptor and no secret, and
// does not outlive this process, however the process ends.
internal import CProcess
internal import Glibc
internal import Synchronization

actor ChildCommand {
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue: ReadingQueue
  private let id: pid_t
  /// The write end of a pipe, open while the command may run. The command's guard waits for the end of this
  /// pipe, which comes at the latest when this process ends.
  private let lifeline: CInt
  /// How the shell ended, with an exit status or by a signal; nil while it runs.
  private var end: (status: CInt, isSignal: Bool)?

  private init(_ id: pid_t, lifeline: CInt, named name: String) {
    self.id = id
    self.lifeline = lifeline
    queue = ReadingQueue(named: name)
  }

  /// Runs `command` in a shell, in its own process group, with an empty standard input. Its messages go to
  /// the standard error of this process.
  ///
  /// - Returns: the command, and the read end of the pipe with its output.
  static func start(_ command: String, named name: String) throws(SourceError) -> (
    command: ChildCommand, output: CInt
  ) {
    var (output, lifeline): ([CInt], [CInt]) = ([-1, -1], [-1, -1])
    var id: pid_t = 0
    var code = unsafe glp_pipe(&output) == 0 && glp_pipe(&lifeline) == 0 ? 0 : errno
    if code == 0 { code = unsafe spawn(command, output: output[1], lifeline: lifeline[0], &id) }
    for end in [output[1], lifeline[0]] where end >= 0 { _ = close(end) }
    guard code == 0 else {
      for end in [output[0], lifeline[1]] where end >= 0 { _ = close(end) }
      throw failure(name, code)
    }
    running.withLock { _ = $0.insert(id) }
    return (ChildCommand(id, lifeline: lifeline[1], named: name), output[0])
  }

  /// Runs the command `$1` beside a guard. When the pipe at descriptor 3 ends, because the process at its
  /// other end is gone, the guard kills the whole process group. `PR_SET_PDEATHSIG` would not work: it is
  /// sent when the *thread* that started the command ends, and it reaches only the shell, not the shell's
  /// children.
  ///
  /// SIGTERM ends the command, which then has time to exit cleanly; the shell and the guard wait for it. The
  /// shell's own messages about children ended by signals are discarded; the command's messages go to the
  /// standard error of this process. They are redirected in a subshell, because a shell that redirects a
  /// plain command redirects its own messages too.
  private static let supervisor = """
    exec 4>&2 2>/dev/null
    trap : TERM
    { trap '' TERM; read _ <&3; kill -s KILL -- -$$; } </dev/null >/dev/null 4>&- &
    exec 3<&-
    (exec /bin/sh -c "$1" 2>&4 4>&-)
    status=$?
    kill -s KILL $!
    [ $status -gt 128 ] && { trap - TERM; kill -s $((status - 128)) $$; }
    exit $status
    """

  /// Returns why the command failed; nil if it succeeded. Call it at the end of the command's output, when
  /// the command exits soon.
  func failure() -> String? {
    waitForEnd(upTo: .milliseconds(300))
    guard let end, end.status != 0 || end.isSignal else { return nil }
    return end.isSignal ? "was ended by signal \(end.status)" : "ended with status \(end.status)"
  }

  /// Ends the command and all its children with SIGTERM, and after 0.3 seconds with SIGKILL.
  func stop() {
    guard Self.running.withLock({ $0.contains(id) }) else { return }
    kill(-id, SIGTERM)
    waitForEnd(upTo: .milliseconds(300))
    // Also ends children that outlive the shell. The shell is not reaped yet, so its process ID can't be
    // reused.
    kill(-id, SIGKILL)
    waitForEnd(upTo: .milliseconds(100))
    Self.running.withLock { _ = $0.remove(id) }
    close(lifeline)
    // On a busy machine, the command may take longer to end than the waits above.
    if waitpid(id, nil, WNOHANG) == 0 { Task { _ = waitpid(id, nil, 0) } }
  }

  /// The commands that have not been stopped yet, for `killAll`.
  private static let running = Mutex<Set<pid_t>>([])

  static func killAll() {
    for id in running.withLock({ $0 }) { kill(-id, SIGKILL) }
  }

  /// Waits without reaping the shell, so that its process ID is not reused.
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

  /// Starts the shell; returns 0 or an errno.
  @unsafe private static func spawn(
    _ command: String, output: CInt, lifeline: CInt, _ id: inout pid_t
  ) -> CInt {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { _ = unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    unsafe posix_spawn_file_actions_adddup2(&actions, lifeline, 3)
    // Also closes descriptors that a library has opened without close-on-exec.
    unsafe glp_spawn_close_from(&actions, 4)

    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { _ = unsafe posix_spawnattr_destroy(&attributes) }
    // The threads of this process block and ignore signals; the command must not inherit that.
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

    var words = unsafe strings(["/bin/sh", "-c", supervisor, "glpreview", command])
    var variables = unsafe strings(ChildEnvironment.inherited(from: environment()))
    defer { unsafe (words + variables).forEach { unsafe free($0) } }
    return unsafe posix_spawn(&id, "/bin/sh", &actions, &attributes, &words, &variables)
  }

  /// Returns a C array of strings, terminated by nil.
  @unsafe private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    unsafe texts.map { unsafe strdup($0) } + [nil]
  }

  private static func environment() -> [String] {
    var variables: [String] = []
    var next = unsafe environ
    while let variable = unsafe next.pointee {
      unsafe variables.append(String(cString: variable))
      unsafe next += 1
    }
    return variables
  }

  private static func failure(_ name: String, _ code: CInt) -> SourceError {
    SourceError(.unavailable, path: name, reason: String(errno: code))
  }
}

extension LiveSource {
  /// Kills the commands of all `exec:` sources, for a process that exits without closing its sources.
  package static func killCommands() { ChildCommand.killAll() }
}

enum ChildEnvironment {
  private static let names: Set<String> = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "TZ", "TMPDIR", "LANG", "LANGUAGE",
    "LD_LIBRARY_PATH", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_DIRS",
  ]
  /// Prefixes of the variables of locales and of capture programs.
  private static let prefixes = ["LC_", "GST_", "LIBCAMERA_", "LIBVA_", "MESA_"]

  /// Returns the variables, each `NAME=VALUE`, that a command inherits.
  static func inherited(from variables: [String]) -> [String] {
    variables.filter { variable in
      let name = String(variable.prefix { $0 != "=" })
      return names.contains(name) || prefixes.contains { name.hasPrefix($0) }
    }
  }
}
