// Servers for tests of streams: one that knows RTSP, and some that don't.
import Foundation
import Synchronization
import TestSupport

/// GStreamer's RTSP server (rtsp_server.py) on a port of its own; gone with its last user.
final class RTSPServer: Sendable {
  /// On loopback.
  let port: Int
  private let process: ChildProcess

  private static let script = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "rtsp_server.py").path
  private static let python = "/usr/bin/python3"

  /// Why there is none; nil where there is.
  static let absence: String? = {
    guard FileManager.default.isExecutableFile(atPath: python), FileManager.default.fileExists(atPath: script)
    else { return "needs \(python) and rtsp_server.py" }
    let check = Process()
    check.executableURL = URL(filePath: python)
    check.arguments = [script, "--check"]
    check.standardError = FileHandle.nullDevice
    do { try check.run() } catch { return "\(error)" }
    check.waitUntilExit()
    return check.terminationStatus == 0
      ? nil
      : "needs python3-gi gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-{base,good,ugly}, and what they need"
  }()

  struct Failed: Error {
    let output: String
  }

  /// Started, and listening; `wantsPassword` of all, "secret" of user "user". With `options` in any other way.
  init(wantsPassword: Bool = false, _ options: String...) async throws {
    signal(SIGPIPE, SIG_IGN)
    process = try ChildProcess(
      Self.python, [Self.script] + (wantsPassword ? ["--auth"] : []) + options,
      environment: ProcessInfo.processInfo.environment, in: "/", writingTo: nil)
    let output = process.output
    let line = await withCheckedContinuation { continuation in
      DispatchQueue(label: "server").async { continuation.resume(returning: output.read()) }
    }
    guard
      let port = Int(String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    else {
      process.end()
      throw Failed(output: String(decoding: process.errors.read(), as: UTF8.self))
    }
    self.port = port
  }

  deinit { process.end() }

  /// The address of a stream.
  func url(_ path: String, user: String = "") -> String { "rtsp://\(user)127.0.0.1:\(port)/\(path)" }

  /// Ends all connections.
  func drop() { process.input.write(Array("drop\n".utf8)) }
}

/// The key and certificate in a file of Tests/GLPreviewTests/Fixtures/certificates. `GLPREVIEW_ROOT` is the package's folder
/// where it is not the one that was built in.
func certificateFile(_ name: String) -> String {
  let root =
    ProcessInfo.processInfo.environment["GLPREVIEW_ROOT"].map { URL(filePath: $0) }
    ?? URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  return root.appending(path: "Tests/GLPreviewTests/Fixtures/certificates/\(name).pem").path
}

/// A server that takes connections and answers what it likes, whatever it is asked.
final class LyingServer: Sendable {
  let port: Int
  private let listener: FileDescriptor
  private let accepted = Mutex<[FileDescriptor]>([])

  /// Answers `bytes` to every connection, and then leaves it, or goes on saying nothing.
  init(answering bytes: [UInt8] = [], leaving: Bool = false) throws {
    signal(SIGPIPE, SIG_IGN)
    listener = FileDescriptor(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let number = listener.number
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        let results = unsafe [
          bind(number, address, length), listen(number, 16), getsockname(number, address, &length),
        ]
        return results == [0, 0, 0]
      }
    }
    guard isBound else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    port = Int(UInt16(bigEndian: address.sin_port))
    // The thread keeps the listener: its number, closed before the first `accept`, could be another server's by then.
    DispatchQueue(label: "liar").async { [weak self, listener] in
      while true {
        let connection = accept(listener.number, nil, nil)
        guard connection >= 0 else { return }
        let descriptor = FileDescriptor(connection)
        guard let self else { return }
        if !leaving { self.accepted.withLock { $0.append(descriptor) } }
        descriptor.write(bytes)
      }
    }
  }

  deinit { shutdown(listener.number, Int32(SHUT_RDWR)) }

  /// How many connections it has taken.
  var connections: Int { accepted.withLock { $0.count } }

  /// Waits until the other side of every connection is closed.
  func waitForClosing() async {
    let all = accepted.withLock { $0 }
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "closing").async {
        for connection in all { while !connection.read().isEmpty {} }
        continuation.resume()
      }
    }
  }
}

/// How many sockets of this process are connected to `port` of loopback.
func socketCount(connectedTo port: Int) throws -> Int {
  let suffix = ":" + String(format: "%04X", port)
  let table = try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8)
  let inodes = table.split(separator: "\n").dropFirst().compactMap { line -> Substring? in
    let fields = line.split(separator: " ")
    return fields.count > 9 && fields[2].hasSuffix(suffix) ? fields[9] : nil
  }
  let own = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
  }
  return inodes.count { own.contains("socket:[\($0)]") }
}
