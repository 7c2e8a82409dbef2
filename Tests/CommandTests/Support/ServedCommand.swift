// `glpreview serve` as a child process, and other people's programs that look at it.
import Foundation
import Synchronization
import TestSupport
import Testing

/// A service on loopback at a port of its own; killed with its last user.
final class ServedCommand: Sendable {
  let port: Int
  /// What it said before it listened.
  let log: [String]
  private let process: ChildProcess
  private let errors: StreamReader

  struct NotServing: Error {
    let log: [String]
  }

  /// Started, and listening; `preparing` is what a shell does before.
  convenience init(_ arguments: String..., in folder: TestFolder, preparing: String = ":") async throws {
    try await self.init(arguments, in: folder, preparing: preparing)
  }

  init(_ arguments: [String], in folder: TestFolder, preparing: String = ":") async throws {
    signal(SIGPIPE, SIG_IGN)
    process = try ChildProcess(
      "/bin/sh",
      ["-c", "\(preparing); exec \"$0\" \"$@\"", RunningCommand.executable, "serve", "--bind", "127.0.0.1:0"]
        + arguments,
      // All the time there is for clients that a starved machine holds up.
      environment: RunningCommand.surroundings.merging([
        "GLPREVIEW_LIMITS_IDLE_CONNECTION": "1h", "GLPREVIEW_LIMITS_STALLED_CLIENT": "1h",
      ]) { $1 }, in: folder.url.path, writingTo: nil)
    let errors = StreamReader(process.errors, limit: .max)
    self.errors = errors
    var log: [String] = []
    while let line = await errors.nextLine() {
      if let address = line.firstRange(of: "listening on 127.0.0.1:"),
        let port = Int(line[address.upperBound...].prefix { $0.isNumber })
      {
        (self.port, self.log) = (port, log)
        return
      }
      log.append(line)
    }
    kill(process.id, SIGKILL)
    _ = await ChildProcess.status(of: process.id)
    throw NotServing(log: log)
  }

  deinit { process.end() }

  /// What its descriptors are: `socket:[1234]`, the names of files.
  var openFiles: [String] {
    let folder = "/proc/\(process.id)/fd"
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
    }
  }

  func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}

/// A connection to a service, as it is.
final class LoopbackSocket: Sendable {
  private let descriptor: Mutex<FileDescriptor?>

  init(port: Int) throws {
    let file = FileDescriptor(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port).bigEndian)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let isConnected = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(file.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    descriptor = Mutex(file)
  }

  /// Sends a request, and closes the connection when all has come that comes.
  func answer(to request: String) async -> [UInt8] {
    guard let file = descriptor.withLock({ $0.take() }) else { return [] }
    file.write(Array(request.utf8))
    return await StreamReader(file, limit: .max).rest()
  }

  /// Sends a request, and `message` after the answer's head; closes the connection after `limit` bytes.
  ///
  /// - Returns: the answer's first line, nil if it has no end.
  func status(of request: String, then message: [UInt8], limit: Int) async -> String? {
    guard let file = descriptor.withLock({ $0.take() }) else { return nil }
    file.write(Array(request.utf8))
    let reader = StreamReader(file, limit: limit)
    let status = await reader.nextLine()
    while let line = await reader.nextLine(), line != "\r" {}
    file.write(message)
    _ = await reader.rest()
    return status
  }
}

/// A program that may be installed.
struct OtherProgram: Sendable {
  let path: String

  /// - Returns: nil where it is not in PATH.
  init?(_ name: String) {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    guard
      let path = folders.map({ "\($0)/\(name)" }).first(where: {
        FileManager.default.isExecutableFile(atPath: $0)
      })
    else { return nil }
    self.path = path
  }

  private init(path: String) { self.path = path }

  /// A Python that has OpenCV: the one that `PEER_PYTHON` names, that in PATH, Debian's.
  static let pythonWithOpenCV: OtherProgram? = {
    let named = ProcessInfo.processInfo.environment["PEER_PYTHON"]
    return [named, OtherProgram("python3")?.path, "/usr/bin/python3"].compactMap(\.self).map {
      OtherProgram(path: $0)
    }.first {
      $0.succeeds("-c", "import cv2")
    }
  }()

  /// Whether it does what it is asked.
  func succeeds(_ arguments: String...) -> Bool {
    guard FileManager.default.isExecutableFile(atPath: path) else { return false }
    let check = Process()
    check.executableURL = URL(filePath: path)
    check.arguments = arguments
    check.standardOutput = FileHandle.nullDevice
    check.standardError = FileHandle.nullDevice
    do { try check.run() } catch { return false }
    check.waitUntilExit()
    return check.terminationStatus == 0
  }

  /// Runs it to its end; one that hangs is ended.
  func run(_ arguments: [String], in folder: TestFolder) async throws -> CommandResult {
    let timeout = try #require(OtherProgram("timeout"))
    let process = try ChildProcess(
      timeout.path, ["900", path] + arguments, environment: ProcessInfo.processInfo.environment,
      in: folder.url.path, writingTo: nil)
    async let output = StreamReader(process.output, limit: .max).rest()
    async let errors = StreamReader(process.errors, limit: .max).rest()
    let text = String(decoding: await errors, as: UTF8.self)
    return CommandResult(
      status: await ChildProcess.status(of: process.id), output: await output, errors: text)
  }
}
