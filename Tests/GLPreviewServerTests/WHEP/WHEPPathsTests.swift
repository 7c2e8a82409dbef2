// Where a WebRTC client's pictures go: to an address that has answered a check, and goes on doing so.
import GLPreview
import NIOCore
import TestSupport
import Testing

@testable import WebRTC

@Suite("Network paths to a WebRTC client")
struct WHEPPathsTests {
  private static let password = Array("P2uYro0UCOQ4zxjKXaWCBui1".utf8)

  private var paths: WHEPPaths
  private var now = CaptureInstant.second(100)

  init() throws {
    let offer = try SDPOffer(SDPTests.session + SDPTests.video)
    let terms = WHEPSession.Terms(id: "id", offer: offer, fragment: "ours", password: "secret", ssrc: 7)
    paths = WHEPPaths(terms, consent: .seconds(30))
  }

  private static func address(_ number: Int) throws -> SocketAddress {
    try SocketAddress(ipAddress: "192.0.2.\(number)", port: 5000)
  }

  /// A check from an address, and the checks that are due then.
  private mutating func check(_ number: Int, nominates: Bool = true) throws -> [WHEPPaths.Check] {
    let address = try Self.address(number)
    let back = paths.checked(from: address, nominates: nominates, at: now)
    #expect(back.address == address)
    return paths.due(at: now)
  }

  private mutating func first(of number: Int, nominates: Bool = true) throws -> WHEPPaths.Check {
    let checks = try check(number, nominates: nominates)
    return try #require(checks.first)
  }

  private mutating func dueNow() throws -> WHEPPaths.Check {
    let checks = paths.due(at: now)
    return try #require(checks.first)
  }

  private mutating func answer(
    _ check: WHEPPaths.Check, from number: Int, sealedWith password: [UInt8] = password,
    _ other: [UInt8]? = nil
  ) throws {
    let answer = STUNMessage(.bindingSuccess, transaction: other ?? check.message.transaction)
    let read = try #require(STUNMessage(answer.bytes(sealedWith: password)))
    paths.answered(read, from: try Self.address(number), at: now)
  }

  private var inUse: String? { paths.path?.address.ipAddress }

  @Test("an address is used only after it answers a connection check with the client's password")
  mutating func answered() throws {
    let check = try first(of: 1)
    #expect(check.message.username == Array("EsAw:ours".utf8))
    #expect(check.path.address.ipAddress == "192.0.2.1")
    #expect(inUse == nil)

    try answer(check, from: 1, sealedWith: Array("other".utf8))
    try answer(check, from: 1, [UInt8](repeating: 7, count: 12))
    try answer(check, from: 2)
    #expect(inUse == nil)
    try answer(check, from: 1)
    #expect(inUse == "192.0.2.1")

    let other = try first(of: 2)
    #expect(inUse == "192.0.2.1")
    try answer(other, from: 2)
    #expect(inUse == "192.0.2.2")
  }

  @Test("of several addresses that have answered, the one that the client nominates is used")
  mutating func nominated() throws {
    try answer(try first(of: 1, nominates: false), from: 1)
    #expect(inUse == "192.0.2.1")
    try answer(try first(of: 2, nominates: true), from: 2)
    #expect(inUse == "192.0.2.2")
    try answer(try first(of: 3, nominates: false), from: 3)
    #expect(inUse == "192.0.2.2")
    let again = try check(3)
    #expect(again.isEmpty)
    #expect(inUse == "192.0.2.3")
  }

  @Test("a silent address gets five connection checks, and one more if it sends a check later")
  mutating func silent() throws {
    var sent = try check(1).count
    for _ in 0..<100 {
      now = now + .milliseconds(100)
      sent += paths.due(at: now).count
    }
    #expect(sent == 5 && inUse == nil)
    let later = try check(1)
    #expect(later.count == 1)
    for _ in 0..<50 { sent += try check(1).count }
    #expect(sent == 5)
  }

  @Test(
    "the address in use is checked every 5 s, and dropped when its 30 s consent expires"
  )
  mutating func consent() throws {
    try answer(try first(of: 1), from: 1)
    for _ in 0..<12 {
      now = now + .seconds(5)
      try answer(try dueNow(), from: 1)
    }
    #expect(inUse == "192.0.2.1")
    now = now + .seconds(31)
    _ = paths.due(at: now)
    #expect(inUse == nil)

    // Another address of the client's will do then.
    try answer(try first(of: 2, nominates: false), from: 2)
    #expect(inUse == "192.0.2.2")
  }

  @Test("WHEPPaths keeps eight addresses: the one in use and the seven newest")
  mutating func many() throws {
    try answer(try first(of: 1), from: 1)
    for number in 2..<20 { _ = try check(number) }
    let hosts = paths.addresses.compactMap(\.ipAddress)
    #expect(hosts == ["192.0.2.1"] + (13...19).map { "192.0.2.\($0)" } && inUse == "192.0.2.1")
  }
}
