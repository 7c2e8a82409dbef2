// What a WebRTC client gets of its view's pictures: in packets, at a pace, again where it lost some.
import Glibc
import NIOCore
import PreviewCore
import Testing

@testable import GLPreview
@testable import WebRTC

@Suite(
  "Pictures for a WebRTC client",
  .enabled(if: hasWebRTC, "libssl3 or libsrtp2-1 is missing here: scripts/setup"))
struct SentPicturesTests {
  /// A client's pictures, and the socket that they go to.
  struct Client {
    var pictures: SentPictures
    let outbox: DatagramOutbox
    let socket: UDPSocket
    let path: DatagramPath
    let (ours, theirs): (SRTPContext, SRTPContext)

    init(_ profile: SRTPContext.Profile = .aes128GCM, host: String = "127.0.0.1", playoutDelay: UInt8? = 5)
      throws
    {
      let count = profile == .aes128GCM ? 28 : 30
      let (one, other) = ([UInt8](repeating: 1, count: count), [UInt8](repeating: 2, count: count))
      ours = try SRTPContext(profile, outbound: one, inbound: other)
      theirs = try SRTPContext(profile, outbound: other, inbound: one)
      socket = try UDPSocket(host)
      outbox = DatagramOutbox(socket.descriptor)
      path = DatagramPath(socket.address)
      pictures = SentPictures(RTPPacketizer(payloadType: 109, ssrc: 7, playoutDelay: playoutDelay))
    }

    @discardableResult
    mutating func add(_ count: Int, isKey: Bool = false, at now: CaptureInstant) -> SentPictures.Reception {
      pictures.add(RTPPicture(sample([unit(count)], isKey: isKey, at: now)), at: now)
    }

    mutating func write(at now: CaptureInstant) -> SentPictures.Sent {
      defer { outbox.flush() }
      return pictures.write(into: outbox, by: ours, to: path, at: now)
    }

    /// The packets that have arrived, opened.
    func packets() -> [[UInt8]] { socket.datagrams().compactMap { theirs.open(rtp: $0) } }
  }

  private static func number(_ packet: [UInt8]) -> UInt16 { UInt16(packet[2]) << 8 | UInt16(packet[3]) }
  private static func time(_ packet: [UInt8]) -> UInt32 { packet[4..<8].reduce(0) { $0 << 8 | UInt32($1) } }

  @Test(
    "packets of a picture decrypt to its bytes, for each SRTP profile and playout-delay setting",
    arguments: [SRTPContext.Profile.aes128GCM, .aes128SHA1], [5, nil] as [UInt8?])
  func picture(profile: SRTPContext.Profile, playoutDelay: UInt8?) throws {
    var client = try Client(profile, playoutDelay: playoutDelay)
    let (start, header) = (CaptureInstant.start, playoutDelay == nil ? 12 : 20)
    #expect(client.add(9000, isKey: true, at: start) == .taken)

    let sent = client.write(at: start)
    let packets = client.packets()

    #expect(sent.packets == 10 && packets.count == 10)
    let picture = RTPPicture(sample([unit(9000)], isKey: true, at: start))
    #expect(packets.flatMap { $0.dropFirst(header) } == picture.bytes)
    #expect(zip(packets, packets.dropFirst()).allSatisfy { Self.number($1) == Self.number($0) &+ 1 })
    #expect(packets.map { $0[1] } == [UInt8](repeating: 109, count: 9) + [109 | 0x80])
    #expect(packets.allSatisfy { Self.time($0) == Self.time(packets[0]) })
    #expect(!client.pictures.isWaiting)
  }

  @Test("a large keyframe is sent in bursts of 16 packets, followed by the next picture")
  func pace() throws {
    var client = try Client()
    let start = CaptureInstant.start + .seconds(1)
    client.add(68_000, isKey: true, at: start)

    var counts: [Int] = []
    for step in 0..<4 {
      if step == 3 { client.add(3000, at: start + .milliseconds(33)) }
      counts.append(client.write(at: start + PacketPace.step * step).packets)
      #expect(client.write(at: start + PacketPace.step * step + .milliseconds(1)).packets == 0)
    }

    #expect(counts == [16, 16, 16, 16])
    #expect(client.packets().count == 64)
    #expect(!client.pictures.isWaiting)
  }

  @Test("pictures before the first keyframe are skipped, also after a restart")
  func keys() throws {
    var client = try Client()
    #expect(client.add(100, at: .start) == .skipped)
    #expect(client.write(at: .start).packets == 0)
    #expect(client.add(100, isKey: true, at: .start + .milliseconds(33)) == .taken)
    #expect(client.add(100, at: .start + .milliseconds(66)) == .taken)
    #expect(client.write(at: .start + .milliseconds(66)).packets == 4)

    client.pictures.restart()

    #expect(client.add(100, at: .start + .milliseconds(99)) == .skipped)
  }

  @Test("a restart sends 40 past pictures within 100 ms, with RTP timestamps 1 ms apart")
  func past() throws {
    var client = try Client()
    let past = (0..<40).map { number in
      RTPPicture(
        sample([unit(100)], isKey: number == 0, at: .start + .milliseconds(50 * number)))
    }
    let now = CaptureInstant.start + .milliseconds(50 * 39)

    for _ in 0..<2 {
      client.pictures.restart(with: past, at: now)
      for step in 0..<20 { _ = client.write(at: now + PacketPace.step * step) }

      let packets = client.packets()
      let times = packets.filter { $0[1] & 0x80 != 0 }.map(Self.time)
      #expect(times.count == 40)
      #expect(zip(times, times.dropFirst()).allSatisfy { $1 &- $0 == 90 }, "a millisecond apart")
    }
    client.add(100, at: now + .milliseconds(50))
    _ = client.write(at: now + .milliseconds(150))
    #expect(client.packets().count == 1)
  }

  @Test("pictures that wait for more than 250 ms are dropped, and the next keyframe is awaited")
  func late() throws {
    var client = try Client()
    client.add(68_000, isKey: true, at: .start)
    _ = client.write(at: .start)
    #expect(client.add(100, at: .start + .milliseconds(200)) == .taken)

    #expect(client.add(100, at: .start + .milliseconds(300)) == .tooLate)

    #expect(!client.pictures.isWaiting)
    #expect(client.add(100, at: .start + .milliseconds(333)) == .skipped)
    #expect(client.add(100, isKey: true, at: .start + .milliseconds(366)) == .taken)
  }

  @Test("a new client's backlog of 30 pictures is not too late and is sent in four bursts")
  func backlog() throws {
    var client = try Client()
    let now = CaptureInstant.start + .seconds(1)
    for index in 0..<30 {
      let picture = sample([unit(3000)], isKey: index == 0, at: .start + .milliseconds(33 * index))
      #expect(client.pictures.add(RTPPicture(picture), at: now) == .taken)
    }
    var step = 0
    while client.pictures.isWaiting, step < 20 {
      _ = client.write(at: now + PacketPace.step * step)
      step += 1
    }
    #expect(step == 4)
    #expect(client.packets().count == 92)
  }

  @Test("RTP timestamps increase even if the pictures' own timestamps jump back")
  func times() throws {
    var client = try Client()
    for (index, time) in [100, 133, 120, 133, 166].enumerated() {
      let picture = sample([unit(50)], isKey: index == 0 || index == 2, at: .start + .milliseconds(time))
      _ = client.pictures.add(RTPPicture(picture), at: .start + .milliseconds(40 * index))
      _ = client.write(at: .start + .milliseconds(40 * index))
    }
    let times = client.packets().filter { $0[1] & 0x80 != 0 }.map { Self.time($0) }
    #expect(times.count == 5)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 &- $0 >= 90 && $1 &- $0 < 9000 })
  }

  @Test(
    "a lost packet is sent again once, byte for byte, and unknown sequence numbers are ignored",
    arguments: [SRTPContext.Profile.aes128GCM, .aes128SHA1])
  func repetition(profile: SRTPContext.Profile) throws {
    var client = try Client(profile)
    client.add(9000, isKey: true, at: .start)
    _ = client.write(at: .start)
    let first = client.socket.datagrams()
    let numbers = first.map { Self.number($0) }

    client.pictures.lost([numbers[3], numbers[9], numbers[3], numbers[9] &+ 1, numbers[0] &- 1])
    #expect(client.pictures.isWaiting)
    let sent = client.write(at: .start + .milliseconds(50))

    #expect(sent == SentPictures.Sent(packets: 0, bytes: 0, repeated: 2))
    #expect(client.socket.datagrams() == [first[3], first[9]])
    // Packets after it go on as before.
    client.add(2000, at: .start + .milliseconds(66))
    #expect(client.write(at: .start + .milliseconds(66)).packets == 2)
    #expect(client.packets().map { Self.number($0) } == [numbers[9] &+ 1, numbers[9] &+ 2])
  }

  @Test("a cumulative loss count yields only new losses, and 0 if it does not grow")
  func missing() throws {
    var client = try Client()
    #expect([0, 3, 3, 1, 5, -2, 6].map { client.pictures.missing($0) } == [0, 3, 0, 0, 2, 0, 1])
  }

  // MARK: The socket

  @Test(
    "datagrams are the same with and without segmentation by the kernel (UDP GSO)",
    arguments: ["127.0.0.1", "::1"])
  func segments(host: String) throws {
    var client = try Client(host: host)
    let plain = DatagramPath(client.socket.address, takesSegments: false)
    let picture = RTPPicture(sample([unit(200_000)], isKey: true))
    var sent: [[[UInt8]]] = []
    for path in [client.path, plain] {
      for first in stride(from: 0, to: picture.count, by: 50) {
        let run = try #require(picture.run(from: first, atMost: 50))
        let header = RTPHeader(
          bytes: [0x80, 96, 0, 0] + [UInt8](repeating: 1, count: 8), sequenceNumber: UInt16(run.first))
        #expect(client.outbox.add(run, of: picture, header, by: client.ours, to: path) != nil)
      }
      client.outbox.add(ByteBuffer(bytes: [1, 2, 3]), to: path)
      client.outbox.flush()
      sent.append(client.socket.datagrams())
    }
    #expect(sent[0] == sent[1])
    #expect(sent[0].count > 100 && sent[0].last == [1, 2, 3])
    #expect(client.outbox.refused == 0)
    _ = client.write(at: .start)
  }

  @Test("if the kernel refuses segmentation, datagrams are sent singly from then on")
  func fallback() throws {
    var client = try Client()
    // The kernel cuts nothing without checksums: udp(7), EINVAL or EIO.
    client.socket.set(SO_NO_CHECK, 1)
    client.add(9000, isKey: true, at: .start)

    #expect(client.write(at: .start).packets == 10)

    #expect(client.packets().count == 10)
    #expect(!client.path.takesSegments)
    #expect(client.outbox.refused == 0)
    client.add(9000, at: .start + .milliseconds(33))
    #expect(client.write(at: .start + .milliseconds(33)).packets == 8)
    #expect(client.packets().count == 8)
  }

  @Test("datagrams to an unreachable address do not affect those to other addresses")
  func unreachable() throws {
    let client = try Client()
    // Without SO_BROADCAST: EACCES.
    let path = DatagramPath(try SocketAddress(ipAddress: "255.255.255.255", port: 9))
    let other = DatagramPath(try SocketAddress(ipAddress: "::1", port: 9))
    for number in 0..<100 as Range<UInt8> {
      client.outbox.add(ByteBuffer(bytes: [number]), to: [path, client.path, other][Int(number) % 3])
    }
    client.outbox.flush()

    #expect(client.socket.datagrams() == (0..<100).filter { $0 % 3 == 1 }.map { [$0] })
    #expect(client.outbox.refused == 67)
    #expect(!client.outbox.isBlocked)
  }

  @Test("datagrams that a full socket buffer does not take are sent later, in order")
  func full() throws {
    // A local socket has a queue of a few datagrams, where UDP over loopback never blocks.
    let name = "/tmp/glp\(UInt32.random(in: .min ... .max))"
    let receiver = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    let sender = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    defer {
      close(receiver)
      close(sender)
      unsafe unlink(name)
    }
    let address = try SocketAddress(unixDomainSocketPath: name)
    try #require(unsafe address.withSockAddr { unsafe bind(receiver, $0, socklen_t($1)) } == 0)
    let outbox = DatagramOutbox(sender)
    let path = DatagramPath(address, takesSegments: false)
    for number in 0..<2000 as Range<UInt16> { outbox.add(ByteBuffer(integer: number), to: path) }

    outbox.flush()
    #expect(outbox.isBlocked)
    var numbers: [UInt16] = []
    for _ in 0..<3000 where numbers.count < 2000 {
      var bytes: [UInt8] = [0, 0]
      while unsafe recv(receiver, &bytes, 2, CInt(MSG_DONTWAIT)) == 2 {
        numbers.append(UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
      }
      outbox.flush()
    }

    #expect(numbers == Array(0..<2000))
    #expect(!outbox.isBlocked && outbox.refused == 0)
  }
}
