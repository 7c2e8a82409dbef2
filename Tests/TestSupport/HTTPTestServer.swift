// A server on loopback that does what a test tells it, right or wrong: raw sockets, a thread a connection.
import Foundation
import Synchronization

/// Accepts connections and does with each what its script says, until it is stopped or the tests are over.
package final class HTTPTestServer: Sendable {
  /// What a client asked for.
  package struct Request: Sendable {
    /// Path and query.
    package let target: String
    /// Names in lower case.
    package let fields: [String: String]
    package let text: String
  }

  private let listener: Int32
  private let state = Mutex(
    (sockets: Set<Int32>(), requests: [Request](), connectionCount: 0, isStopped: false))
  private let script: @Sendable (Peer) -> Void
  package let port: Int

  /// `script` is run on a thread for each connection, which ends with it.
  package init(_ script: @escaping @Sendable (Peer) -> Void) throws {
    self.script = script
    (listener, port) = try Self.listen()
    Thread.detachNewThread { [listener] in
      while true {
        let socket = accept(listener, nil, nil)
        guard socket >= 0 else { break }
        self.serve(socket)
      }
      // Here, not in `stop`: its number could be another server's before this thread calls `accept` once more.
      _ = close(listener)
    }
  }

  /// One answer to each request.
  package convenience init(answering answer: @escaping @Sendable (Request, _ index: Int) -> [UInt8]) throws {
    let count = Mutex(0)
    try self.init { peer in
      while let request = peer.request() {
        let index = count.withLock { count in
          count += 1
          return count - 1
        }
        guard peer.send(answer(request, index)) else { return }
      }
    }
  }

  /// Ends all connections, and accepts no more.
  package func stop() {
    state.withLock { state in
      guard !state.isStopped else { return }
      state.isStopped = true
      _ = shutdown(listener, Int32(SHUT_RDWR))
      for socket in state.sockets { _ = shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  package func url(_ target: String = "/") -> String { "http://127.0.0.1:\(port)\(target)" }

  /// All that was asked so far.
  package var requests: [Request] { state.withLock { $0.requests } }
  package var connectionCount: Int { state.withLock { $0.connectionCount } }
  /// Connections that are open now.
  package var openCount: Int { state.withLock { $0.sockets.count } }

  private func serve(_ socket: Int32) {
    let isWanted = state.withLock { state in
      guard !state.isStopped else { return false }
      state.sockets.insert(socket)
      state.connectionCount += 1
      return true
    }
    guard isWanted else {
      _ = close(socket)
      return
    }
    Thread.detachNewThread { [script] in
      script(Peer(socket) { request in self.state.withLock { $0.requests.append(request) } })
      // In good order: what was sent is to arrive, whatever the client still says.
      _ = shutdown(socket, Int32(SHUT_WR))
      // At once: the number of a closed socket may be another test's.
      self.state.withLock { state in
        state.sockets.remove(socket)
        _ = close(socket)
      }
    }
  }

  private static func listen() throws -> (Int32, port: Int) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(listener, address, length) == 0 && getsockname(listener, address, &length) == 0
      }
    }
    guard isBound, Glibc.listen(listener, 16) == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
    return (listener, Int(UInt16(bigEndian: address.sin_port)))
  }

  /// A client, as a script sees it.
  package final class Peer: Sendable {
    package let socket: Int32
    private let record: @Sendable (Request) -> Void
    private let waiting = Mutex<[UInt8]>([])

    fileprivate init(_ socket: Int32, _ record: @escaping @Sendable (Request) -> Void) {
      self.socket = socket
      self.record = record
    }

    /// The next request; nil where the client goes.
    package func request() -> Request? {
      var bytes = waiting.withLock { $0 }
      while true {
        let text = String(decoding: bytes, as: UTF8.self)
        if let end = text.range(of: "\r\n\r\n") {
          let head = String(text[..<end.lowerBound])
          waiting.withLock { $0 = Array(bytes.dropFirst(head.utf8.count + 4)) }
          let lines = head.components(separatedBy: "\r\n")
          let words = lines[0].split(separator: " ")
          guard words.count == 3 else { return nil }
          let fields = lines.dropFirst().map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            return (
              line[..<colon].lowercased(), line[colon...].dropFirst().trimmingCharacters(in: .whitespaces)
            )
          }
          let request = Request(
            target: String(words[1]), fields: Dictionary(fields) { $0 + ", " + $1 }, text: head)
          record(request)
          return request
        }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(socket, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        bytes += buffer[..<count]
      }
    }

    /// The body of a request, by its length.
    package func body(of request: Request) -> [UInt8] {
      let count = request.fields["content-length"].flatMap { Int($0) } ?? 0
      var bytes = waiting.withLock { $0 }
      var buffer = [UInt8](repeating: 0, count: 4096)
      while bytes.count < count {
        let received = unsafe recv(socket, &buffer, buffer.count, 0)
        guard received > 0 else { break }
        bytes += buffer[..<received]
      }
      waiting.withLock { $0 = Array(bytes.dropFirst(count)) }
      return Array(bytes.prefix(count))
    }

    /// False where the client is gone.
    @discardableResult
    package func send(_ bytes: some Sequence<UInt8>) -> Bool {
      var rest = Array(bytes)[...]
      while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes {
          unsafe Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }

    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Waits for the client to go, and takes all that it says before.
    package func waitForEnd() {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while unsafe recv(socket, &buffer, buffer.count, 0) > 0 {}
    }

    /// Waits for the client to say something, or to go.
    package func waitForMore() { _ = isThere(after: -1) }

    /// Whether the client is there still after so many milliseconds.
    package func isThere(after milliseconds: Int32) -> Bool {
      var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      return unsafe poll(&waiting, 1, milliseconds) == 0
    }

    /// Ends the connection without a goodbye.
    package func reset() {
      var linger = linger(l_onoff: 1, l_linger: 0)
      _ = unsafe setsockopt(
        socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }
  }
}

/// An answer with a body whose length is told.
package func httpAnswer(
  _ body: [UInt8], type: String? = "image/jpeg", status: String = "200 OK", _ fields: String...
)
  -> [UInt8]
{
  var lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.count)"] + fields
  if let type { lines.append("Content-Type: \(type)") }
  return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
}

/// The head of a stream's answer.
package let multipartHead =
  "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=frame\r\nConnection: close\r\n\r\n"

/// A part of such a stream.
package func multipartPart(_ jpeg: [UInt8], _ fields: String = "") -> [UInt8] {
  Array("--frame\r\nContent-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\(fields)\r\n".utf8) + jpeg
    + Array("\r\n".utf8)
}
