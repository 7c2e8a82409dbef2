// The command as its users meet it: a child process in a folder of its own, its streams, its exit status.
import Foundation
import Synchronization
import TestSupport
import Testing

/// What came of a run.
struct CommandResult: Sendable {
  /// As a shell has it: 128 and the number where a signal ended the process.
  let status: Int32
  /// Standard output.
  let output: [UInt8]
  /// Standard error.
  let errors: String

  /// Standard output as lines of JSON.
  var reports: [PictureReport] {
    get throws { try PictureReport.lines(of: String(decoding: output, as: UTF8.self)) }
  }
}

/// What `--json` tells of a picture.
struct PictureReport: Decodable, Equatable {
  let source: String?
  let index: Int?
  let view: String
  let frame: Int
  let timestamp: Double
  let transport: String?
  let width: Int
  let height: Int
  let file: String?
  let format: String?
  let bytes: Int?
  let quality: Int?
  let decodedEighths: Int
  let renderer: String
  let frameGPUMilliseconds: Double?

  static func lines(of text: String) throws -> [PictureReport] {
    try text.split(separator: "\n").map { try JSONDecoder().decode(PictureReport.self, from: Data($0.utf8)) }
  }
}

/// A folder for one test; gone when the test is over.
final class TestFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "glpreview-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// All that is in it, in order.
  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
  }

  subscript(name: String) -> URL { url.appending(path: name) }

  func bytes(of name: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: self[name])) }

  func write(_ bytes: [UInt8], to name: String) throws { try Data(bytes).write(to: self[name]) }

  func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(at: self[name], withIntermediateDirectories: false)
  }

  func makeFIFO(_ name: String) throws {
    guard unsafe mkfifo(self[name].path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
  }

  func link(_ name: String, to destination: String) throws {
    try FileManager.default.createSymbolicLink(atPath: self[name].path, withDestinationPath: destination)
  }

  /// A renderer takes 100 MB: not all tests at once. A `RunningCommand` takes no slot: what its test runs beside it
  /// might wait for that one.
  private static let slots = Slots(ProcessInfo.processInfo.activeProcessorCount + 1)

  /// Runs `glpreview` here, to its end. `input` comes through a pipe; with nil there is nothing to read.
  func run(
    _ arguments: [String], input: [UInt8]? = nil, environment: [String: String] = [:], output: String? = nil
  ) async throws -> CommandResult {
    try await Self.slots.hold {
      let command = try await RunningCommand(arguments, in: self, environment: environment, output: output)
      if let input { command.write(input) }
      command.closeInput()
      return try await command.result()
    }
  }

  func run(_ arguments: String..., input: [UInt8]? = nil) async throws -> CommandResult {
    try await run(arguments, input: input)
  }

  /// The same by the CPU's renderer: for what has nothing to do with who draws.
  func render(_ arguments: String..., input: [UInt8]? = nil) async throws -> CommandResult {
    try await run(["render", "--renderer", "reference"] + arguments, input: input)
  }

  /// Returns the width and the height of the picture that `render` makes of a source with these options.
  func renderedSize(of source: String, _ options: [String]) async throws -> [Int] {
    let result = try await run(
      ["render", "--renderer", "reference", source, "-o", "null:", "--json"] + options)
    let report = try #require(try result.reports.first, "\(result.errors)")
    return [report.width, report.height]
  }
}

/// A run that has not ended, for tests that meddle with it.
final class RunningCommand: Sendable {
  struct TimedOut: Error {
    let arguments: [String]
  }

  /// For a run that hangs, which nothing else would end; not for one that is slow.
  private static let limit = DispatchTimeInterval.seconds(900)

  private let arguments: [String]
  private let id: pid_t
  private let input: Mutex<FileDescriptor?>
  private let writing = DispatchQueue(label: "input")
  private let output: StreamReader
  private let errors: StreamReader
  private let status: Task<Int32, Never>
  private let watchdog: Watchdog

  /// This process's environment without what it has told its own drivers: a command has to tell them itself.
  static var surroundings: [String: String] {
    let told = ["MESA_SHADER_CACHE_DIR", "MESA_SHADER_CACHE_DISABLE", "LP_NUM_THREADS", "EGL_LOG_LEVEL"]
    return ProcessInfo.processInfo.environment.filter { !told.contains($0.key) }
  }

  /// Starts `glpreview` in `folder`. What goes to the file `output` is not seen here; after `outputLimit` bytes
  /// nobody reads standard output any more.
  init(
    _ arguments: [String], in folder: TestFolder, environment: [String: String] = [:],
    output path: String? = nil, outputLimit: Int = .max
  ) async throws {
    self.arguments = arguments
    // Writing to a process that has ended must not end the tests.
    signal(SIGPIPE, SIG_IGN)
    let executable = try Self.executable
    let process = try ChildProcess(
      executable, arguments, environment: Self.surroundings.merging(environment) { $1 },
      in: folder.url.path, writingTo: path)
    let id = process.id
    let watchdog = Watchdog(id, after: Self.limit)
    self.id = id
    self.watchdog = watchdog
    status = Task {
      let status = await ChildProcess.status(of: id)
      watchdog.end()
      return status
    }
    input = Mutex(process.input)
    self.output = StreamReader(process.output, limit: outputLimit)
    self.errors = StreamReader(process.errors, limit: .max)
  }

  /// The built command lies beside the tests; `GLPREVIEW` names another one to test.
  static var executable: String {
    get throws {
      if let path = ProcessInfo.processInfo.environment["GLPREVIEW"] { return path }
      let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      let command = URL(filePath: tests).deletingLastPathComponent().appending(path: "glpreview")
      try #require(FileManager.default.isExecutableFile(atPath: command.path), "\(command.path) is not there")
      return command.path
    }
  }

  /// Brings bytes to standard input, behind those of earlier calls; does not wait.
  func write(_ bytes: [UInt8]) {
    writing.async { self.input.withLock { $0 }?.write(bytes) }
  }

  /// Standard input ends behind what was written.
  func closeInput() {
    writing.async { self.input.withLock { $0 = nil } }
  }

  /// The next line of standard output; nil at its end.
  func nextLine() async -> String? { await output.nextLine() }

  /// Waits until it takes care of SIGINT and SIGTERM itself, and has come to rest.
  func waitUntilIdle() async throws {
    let handled: UInt64 = 1 << (SIGINT - 1) | 1 << (SIGTERM - 1)
    try await until {
      if watchdog.hasEnded { return true }
      let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
      let caught = status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }?.split(separator: "\t")
        .last
      guard let mask = caught.flatMap({ UInt64($0, radix: 16) }) else { return false }
      return mask & handled == handled && status.contains("State:\tS")
    }
  }

  /// Its arguments as other users see them, with a zero behind each.
  var shownArguments: String {
    get throws { try String(contentsOfFile: "/proc/\(id)/cmdline", encoding: .utf8) }
  }

  /// Sends a signal.
  func send(_ signal: Int32) { kill(id, signal) }

  /// What came of it, when it has ended; what was not taken by `nextLine` is in its output.
  func result() async throws -> CommandResult {
    let (output, errors) = await (output.rest(), errors.rest())
    let status = await status.value
    guard !watchdog.hasBitten else { throw TimedOut(arguments: arguments) }
    return CommandResult(status: status, output: output, errors: String(decoding: errors, as: UTF8.self))
  }
}

/// Ends a process that takes too long.
private final class Watchdog: Sendable {
  private enum State { case watching, ended, bitten }
  private let state = Mutex(State.watching)

  init(_ process: pid_t, after limit: DispatchTimeInterval) {
    DispatchQueue.global().asyncAfter(deadline: .now() + limit) { [weak self] in
      self?.state.withLock { state in
        guard state == .watching else { return }
        state = .bitten
        kill(process, SIGKILL)
      }
    }
  }

  /// The process has ended.
  func end() {
    state.withLock { if $0 == .watching { $0 = .ended } }
  }

  var hasEnded: Bool { state.withLock { $0 != .watching } }
  var hasBitten: Bool { state.withLock { $0 == .bitten } }
}

/// Reads a pipe on a thread of its own, so that the process never waits for us.
actor StreamReader {
  private let chunks: AsyncStream<[UInt8]>
  private var waiting: [UInt8] = []

  init(_ file: FileDescriptor, limit: Int) {
    let (chunks, source) = AsyncStream.makeStream(of: [UInt8].self)
    self.chunks = chunks
    DispatchQueue(label: "output").async {
      var count = 0
      while count < limit {
        let chunk = file.read()
        guard !chunk.isEmpty else { break }
        count += chunk.count
        source.yield(chunk)
      }
      source.finish()
    }
  }

  func nextLine() async -> String? {
    while true {
      if let end = waiting.firstIndex(of: UInt8(ascii: "\n")) {
        defer { waiting.removeFirst(end + 1) }
        return String(decoding: waiting[..<end], as: UTF8.self)
      }
      guard await readMore() else { return nil }
    }
  }

  func rest() async -> [UInt8] {
    while await readMore() {}
    return waiting
  }

  private func readMore() async -> Bool {
    guard let chunk = await chunks.first(where: { _ in true }) else { return false }
    waiting += chunk
    return true
  }
}

/// So many at a time, in the order in which they come.
private actor Slots {
  private var free: Int
  private var queue: [CheckedContinuation<Void, Never>] = []

  init(_ count: Int) { free = count }

  nonisolated func hold<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    await take()
    do {
      let value = try await body()
      await give()
      return value
    } catch {
      await give()
      throw error
    }
  }

  private func take() async {
    guard free == 0 else {
      free -= 1
      return
    }
    await withCheckedContinuation { queue.append($0) }
  }

  private func give() {
    guard queue.isEmpty else { return queue.removeFirst().resume() }
    free += 1
  }
}

/// Finds that a run failed as it should: with this status and one line that says what is wrong with what.
func expectFailure(
  _ result: CommandResult, _ status: Int32, naming words: String...,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(result.status == status, sourceLocation: sourceLocation)
  #expect(result.output.isEmpty, sourceLocation: sourceLocation)
  #expect(result.errors.hasPrefix("glpreview: "), "\(result.errors)", sourceLocation: sourceLocation)
  #expect(result.errors.hasSuffix("\n"), "\(result.errors)", sourceLocation: sourceLocation)
  #expect(
    result.errors.split(separator: "\n", omittingEmptySubsequences: false).count == 2,
    "not one line: \(result.errors)",
    sourceLocation: sourceLocation)
  for word in words {
    #expect(result.errors.contains(word), "\(result.errors)", sourceLocation: sourceLocation)
  }
}
