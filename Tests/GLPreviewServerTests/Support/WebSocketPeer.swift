// A client of WebSockets: what it sends is masked, what it gets are whole frames.
import NIOCore
import TestSupport
import Testing

final class WebSocketPeer: Sendable {
  private let connection: RawConnection

  static let usual = [
    "Connection: keep-alive, Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ]

  /// Connects, asks for `path`, and sends `early` without waiting for the answer. With `isSmall` the kernel keeps little of
  /// what is not read.
  init(
    to port: Int, _ path: String, version: String = "HTTP/1.1", host: String = "localhost",
    fields: [String] = WebSocketPeer.usual,
    more: [String] = [], early: [UInt8] = [], isSmall: Bool = false
  ) async throws {
    let head = ["GET \(path) \(version)", "Host: \(host)"] + fields + more
    connection = try await RawConnection(to: port, sending: "", isSmall: isSmall)
    try await connection.send(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + early)
    try await connection.waits(for: "\r\n\r\n")
  }

  /// The head of the answer.
  var head: String { String(decoding: connection.bytes[..<bodyStart], as: UTF8.self) }

  private var bodyStart: Int {
    connection.bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? connection.bytes.count
  }

  /// A frame with a mask, or without, which is wrong.
  static func frame(_ opcode: UInt8, _ payload: [UInt8], isMasked: Bool = true) -> [UInt8] {
    let flag: UInt8 = isMasked ? 0x80 : 0
    let length: [UInt8] =
      switch payload.count {
      case ..<126: [flag | UInt8(payload.count)]
      default: [flag | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
      }
    let mask: [UInt8] = isMasked ? [1, 2, 3, 4] : []
    let masked = isMasked ? payload.enumerated().map { $1 ^ mask[$0 % 4] } : payload
    return [0x80 | opcode] + length + mask + masked
  }

  func send(_ text: String) async throws { try await send(1, Array(text.utf8)) }

  func send(_ opcode: UInt8, _ payload: [UInt8]) async throws {
    try await connection.send(Self.frame(opcode, payload))
  }

  func send(bytes: [UInt8]) async throws { try await connection.send(bytes) }

  /// All frames that came whole so far.
  var frames: [(opcode: UInt8, payload: [UInt8])] {
    let bytes = connection.bytes
    var (frames, offset) = ([(opcode: UInt8, payload: [UInt8])](), bodyStart)
    while offset + 2 <= bytes.count {
      var (count, start) = (Int(bytes[offset + 1]), offset + 2)
      let size = count == 126 ? 2 : count == 127 ? 8 : 0
      guard start + size <= bytes.count else { break }
      if size > 0 { count = bytes[start..<start + size].reduce(0) { $0 << 8 | Int($1) } }
      start += size
      guard start + count <= bytes.count else { break }
      frames.append((bytes[offset] & 15, Array(bytes[start..<start + count])))
      offset = start + count
    }
    return frames
  }

  /// The texts that came so far.
  var texts: [String] { frames.filter { $0.opcode == 1 }.map { String(decoding: $0.payload, as: UTF8.self) } }

  /// Returns when a condition holds; it may also hold at the end.
  func waits(_ condition: () -> Bool) async { await until { condition() } }

  /// The code of the frame that closes the connection, if it came.
  var closingCode: Int? {
    frames.first { $0.opcode == 8 }.map { $0.payload.reduce(0) { $0 << 8 | Int($1) } }
  }

  func stopReading() async throws { try await connection.stopReading() }

  func readAgain() async throws { try await connection.readAgain() }

  func waitsForEnd() async throws { try await connection.waitsForEnd() }

  func close() async throws { try await connection.close() }
}
