// An RTSP client of the tests' own, which shows what it got.
import NIOCore
import PreviewCore
import Testing

/// A connection to an RTSP server.
actor RTSPPeer {
  struct Answer: Sendable {
    let status: Int
    /// By names in lower case.
    let fields: [String: String]
    let body: String
  }

  private let connection: RawConnection
  private var position = 0
  private var number = 0
  private var packets: [(channel: UInt8, bytes: [UInt8])] = []

  init(to port: Int, isSmall: Bool = false) async throws {
    connection = try await RawConnection(to: port, sending: "", isSmall: isSmall)
  }

  /// Sends a request, and waits for its answer.
  func ask(_ method: String, _ url: String, _ fields: [(String, String)] = []) async throws -> Answer {
    number += 1
    let lines = ["\(method) \(url) RTSP/1.0", "CSeq: \(number)"] + fields.map { "\($0): \($1)" }
    try await send(lines.map { $0 + "\r\n" }.joined() + "\r\n")
    let answer = try await self.answer()
    #expect(answer.fields["cseq"] == "\(number)")
    return answer
  }

  func send(_ text: String) async throws { try await connection.send(Array(text.utf8)) }

  func send(_ packet: [UInt8], channel: UInt8) async throws {
    try await connection.send([0x24, channel, UInt8(packet.count >> 8), UInt8(packet.count & 255)] + packet)
  }

  /// The next answer; packets before it are kept.
  func answer() async throws -> Answer {
    while true {
      let bytes = connection.bytes
      takePackets(bytes)
      if position < bytes.count, let answer = takeAnswer(bytes) { return answer }
      try await connection.waits(forMoreThan: bytes.count)
    }
  }

  /// The next packet of a channel; those of others are kept.
  func packet(channel: UInt8) async throws -> [UInt8] {
    while true {
      let bytes = connection.bytes
      takePackets(bytes)
      if let index = packets.firstIndex(where: { $0.channel == channel }) {
        return packets.remove(at: index).bytes
      }
      try await connection.waits(forMoreThan: bytes.count)
    }
  }

  func stopReading() async throws { try await connection.stopReading() }
  func waitsForEnd() async throws { try await connection.waitsForEnd() }
  func close() async throws { try await connection.close() }

  private func takePackets(_ bytes: [UInt8]) {
    while position + 4 <= bytes.count, bytes[position] == 0x24 {
      let end = position + 4 + (Int(bytes[position + 2]) << 8 | Int(bytes[position + 3]))
      guard end <= bytes.count else { return }
      packets.append((bytes[position + 1], Array(bytes[position + 4..<end])))
      position = end
    }
  }

  private func takeAnswer(_ bytes: [UInt8]) -> Answer? {
    guard bytes[position] != 0x24, let end = bytes[position...].firstRange(of: Array("\r\n\r\n".utf8)) else {
      return nil
    }
    let lines = String(decoding: bytes[position..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let halves = line.split(separator: ":", maxSplits: 1)
      fields[halves[0].lowercased()] = halves.count == 2 ? halves[1].trimmed : ""
    }
    let length = fields["content-length"].flatMap { Int($0) } ?? 0
    guard end.upperBound + length <= bytes.count else { return nil }
    position = end.upperBound + length
    let words = (lines.first ?? "").split(separator: " ", maxSplits: 2)
    return Answer(
      status: words.count > 1 ? Int(words[1]) ?? 0 : 0, fields: fields,
      body: String(decoding: bytes[end.upperBound..<position], as: UTF8.self))
  }
}
