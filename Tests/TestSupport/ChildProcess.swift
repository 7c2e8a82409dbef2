// A child process by posix_spawn. Foundation's Process crashes now and then where many are started at a time.
import CProcess
package import Foundation
import Synchronization

/// A process that was started, and our ends of its streams.
package struct ChildProcess: Sendable {
  package let id: pid_t
  package let input: FileDescriptor
  package let output: FileDescriptor
  package let errors: FileDescriptor

  /// No process is started while another's pipes are open and not yet marked as ours.
  private static let starting = Mutex(())

  /// Starts `path` in `folder`. With `file`, standard output goes there, and `output` has nothing to read.
  package init(
    _ path: String, _ arguments: [String], environment: [String: String], in folder: String,
    writingTo file: String?
  ) throws {
    self = try Self.starting.withLock { _ in
      let (inputs, outputs, errors) = try (Pipe(), Pipe(), Pipe())
      let output = try file.map { try FileDescriptor(writingTo: $0) } ?? outputs.writing
      let streams = [inputs.reading, output, errors.writing]
      let id = try Self.spawn(path, arguments, environment, folder, streams)
      return ChildProcess(id: id, input: inputs.writing, output: outputs.reading, errors: errors.reading)
    }
  }

  private init(id: pid_t, input: FileDescriptor, output: FileDescriptor, errors: FileDescriptor) {
    self.id = id
    self.input = input
    self.output = output
    self.errors = errors
  }

  private static func spawn(
    _ path: String, _ arguments: [String], _ environment: [String: String], _ folder: String,
    _ streams: [FileDescriptor]
  ) throws -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (number, stream) in streams.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, stream.number, Int32(number))
    }
    // Not all that opens files marks them as ours: a connection that a child has too never ends for its other side.
    guard unsafe try addChangeOfFolder()(&actions, folder) == 0, unsafe glp_spawn_close_from(&actions, 3) == 0
    else { throw POSIXError(.ENOMEM) }

    // Dispatch's threads block signals, and we ignore SIGPIPE: the child shall know nothing of it.
    var attributes = posix_spawnattr_t()
    var (none, all) = (sigset_t(), sigset_t())
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let words = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
    let variables = unsafe environment.map { unsafe strdup("\($0)=\($1)") } + [nil]
    defer { unsafe (words + variables).forEach { unsafe free($0) } }
    var id: pid_t = 0
    let code = unsafe posix_spawn(&id, path, &actions, &attributes, words, variables)
    guard code == 0 else { throw POSIXError(.init(rawValue: code) ?? .EIO) }
    return id
  }

  private typealias AddChangeOfFolder =
    @convention(c) (
      UnsafeMutablePointer<posix_spawn_file_actions_t>, UnsafePointer<CChar>
    ) -> CInt

  /// A function of glibc's that is hidden from Swift behind _GNU_SOURCE.
  private static func addChangeOfFolder() throws -> AddChangeOfFolder {
    guard let symbol = unsafe dlsym(nil, "posix_spawn_file_actions_addchdir_np") else {
      throw POSIXError(.ENOSYS)
    }
    return unsafe unsafeBitCast(symbol, to: AddChangeOfFolder.self)
  }

  /// Kills it, and takes its status: what is dead and not waited for keeps those who wait for any child from all others.
  package func end() {
    kill(id, SIGKILL)
    Task { [id] in _ = await Self.status(of: id) }
  }

  /// Waits for a child's end. As a shell has it: its exit status, or 128 and the signal's number.
  package static func status(of id: pid_t) async -> Int32 {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "child").async {
        var status: Int32 = 0
        while unsafe waitpid(id, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        continuation.resume(returning: signal == 0 ? status >> 8 & 0xFF : 128 + signal)
      }
    }
  }
}

/// Two ends of a pipe.
private struct Pipe {
  let reading: FileDescriptor
  let writing: FileDescriptor

  init() throws {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    (reading, writing) = (FileDescriptor(ends[0]), FileDescriptor(ends[1]))
  }
}

/// An open file that children don't inherit; closed with its last user.
package final class FileDescriptor: Sendable {
  package let number: Int32

  package init(_ number: Int32) {
    self.number = number
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
  }

  package convenience init(writingTo path: String) throws {
    let number = unsafe open(path, O_WRONLY)
    guard number >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    self.init(number)
  }

  deinit { close(number) }

  /// What is there, at least a byte; nothing at the end.
  package func read() -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
      var result = -1
      repeat {
        result = unsafe Glibc.read(number, buffer.baseAddress, buffer.count)
      } while result < 0
        && errno == EINTR
      count = max(0, result)
    }
  }

  /// Writes all of it, or what is taken.
  package func write(_ bytes: [UInt8]) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.write(number, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written)
      }
      guard count >= 0 || errno == EINTR else { return }
      written += max(count, 0)
    }
  }
}
