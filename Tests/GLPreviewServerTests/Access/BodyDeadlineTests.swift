// Requests that do not come to their end, by a clock that tests move.
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import ServiceCore

@Suite("Request body deadline")
struct BodyDeadlineTests {
  private static let head = HTTPRequest(method: .post, scheme: nil, authority: "a", path: "/")

  private func channel() throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(
      handler: BodyDeadlineHandler(comesWithin: .seconds(60), lingersFor: .seconds(5), lingeringBytes: 100))
    _ = try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return channel
  }

  private func answer(_ channel: EmbeddedChannel) throws {
    try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .unauthorized)))
    try channel.writeOutbound(HTTPResponsePart.end(nil))
  }

  @Test("a request body must be complete within 60 s, even if bytes keep arriving")
  func body() throws {
    let channel = try channel()
    try channel.writeInbound(HTTPRequestPart.head(Self.head))

    for _ in 0..<59 {
      channel.embeddedEventLoop.advanceTime(by: .seconds(1))
      try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "x")))
    }
    #expect(channel.isActive)

    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
  }

  @Test("a request body that goes on after the response is cut off after 5 s or 100 bytes")
  func lingering() throws {
    let channel = try channel()
    try channel.writeInbound(HTTPRequestPart.head(Self.head))
    try answer(channel)

    channel.embeddedEventLoop.advanceTime(by: .seconds(4))
    try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "x")))
    #expect(channel.isActive)

    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)

    let other = try self.channel()
    try other.writeInbound(HTTPRequestPart.head(Self.head))
    try answer(other)

    try other.writeInbound(HTTPRequestPart.body(ByteBuffer(repeating: 0, count: 100)))
    #expect(other.isActive)

    try other.writeInbound(HTTPRequestPart.body(ByteBuffer(repeating: 0, count: 1)))
    #expect(!other.isActive)
  }

  @Test("a complete request has no deadline, and neither has the pause before the next request")
  func whole() throws {
    let channel = try channel()

    for _ in 0..<3 {
      try channel.writeInbound(HTTPRequestPart.head(Self.head))
      try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(repeating: 0, count: 1000)))
      try channel.writeInbound(HTTPRequestPart.end(nil))
      channel.embeddedEventLoop.advanceTime(by: .hours(10))
      try answer(channel)
      channel.embeddedEventLoop.advanceTime(by: .hours(10))
    }

    #expect(channel.isActive)
  }

  @Test("a response to the previous request does not shorten the deadline of the next body")
  func pipelined() throws {
    let channel = try channel()
    try channel.writeInbound(HTTPRequestPart.head(Self.head))
    try channel.writeInbound(HTTPRequestPart.end(nil))
    try channel.writeInbound(HTTPRequestPart.head(Self.head))
    try answer(channel)

    channel.embeddedEventLoop.advanceTime(by: .seconds(30))
    try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(repeating: 0, count: 1000)))
    #expect(channel.isActive)

    try answer(channel)
    channel.embeddedEventLoop.advanceTime(by: .seconds(5))
    #expect(!channel.isActive)
  }
}
