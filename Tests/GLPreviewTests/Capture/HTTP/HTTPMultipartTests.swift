// Multipart streams in pieces of any size, right and wrong.
import TestSupport
import Testing

@testable import CaptureHTTP
@testable import GLPreview

@Suite("Multipart streams")
struct HTTPMultipartTests {
  private static let limit = 4096

  /// What comes of `bytes` in pieces that end at `cuts`.
  private func events(
    _ bytes: [UInt8], boundary: String?, cuts: some Sequence<Int>, limit: Int = limit
  ) -> [PictureEvent] {
    var parser = MultipartParser(boundary: boundary, pictureLimit: limit)
    var events: [PictureEvent] = []
    var start = 0
    for end in Array(cuts) + [bytes.count] where end > start && end <= bytes.count {
      events += parser.take(bytes[start..<end], at: .start)
      start = end
    }
    return events
  }

  private func pictures(_ events: [PictureEvent]) -> [[UInt8]] {
    events.compactMap { if case .picture(let picture) = $0 { picture.bytes } else { nil } }
  }

  private func damagedCount(_ events: [PictureEvent]) -> Int {
    events.count { if case .damaged = $0 { true } else { false } }
  }

  @Test(
    "MultipartParser reads each variant of a stream, however its bytes are split",
    arguments: ServedStream.all)
  func manners(stream: ServedStream) {
    let whole = events(stream.bytes, boundary: stream.boundary, cuts: [])
    #expect(pictures(whole) == stream.pictures)
    #expect(damagedCount(whole) == stream.damagedCount)

    for size in 1...9 {
      let cuts = stride(from: size, to: stream.bytes.count, by: size)
      #expect(events(stream.bytes, boundary: stream.boundary, cuts: cuts) == whole, "pieces of \(size)")
    }
    for cut in stream.bytes.indices {
      #expect(events(stream.bytes, boundary: stream.boundary, cuts: [cut]) == whole, "cut at \(cut)")
    }
  }

  @Test("no event comes before the bytes that a part declares as missing", arguments: ServedStream.wellFormed)
  func missing(stream: ServedStream) {
    var most = 0
    for cut in stream.bytes.indices {
      var parser = MultipartParser(boundary: stream.boundary, pictureLimit: Self.limit)
      _ = parser.take(stream.bytes[..<cut], at: .start)
      let missing = parser.missingByteCount
      #expect(missing >= 1)
      most = max(most, missing)
      let next = stream.bytes[cut...].prefix(missing - 1)
      #expect(parser.take(next, at: .start).isEmpty, "\(missing) after \(cut)")
    }
    // A whole picture, where its length is declared.
    let says = String(decoding: stream.bytes, as: UTF8.self).lowercased().contains("content-length")
    #expect(says == (most > 1))
  }

  @Test(
    "a picture is delivered with its last byte, not with the next boundary",
    arguments: ServedStream.wellFormed + ServedStream.missing.prefix(7))
  func promptly(stream: ServedStream) throws {
    let last = try #require(stream.pictures.last)
    let end = try #require(
      (0...stream.bytes.count).last { stream.bytes[..<$0].suffix(last.count).elementsEqual(last) })
    let found = pictures(events(Array(stream.bytes[..<end]), boundary: stream.boundary, cuts: []))
    #expect(found == stream.pictures)
  }

  @Test("a picture has the time of its first byte, and X-Timestamp as its server time")
  func times() {
    var parser = MultipartParser(boundary: "b", pictureLimit: Self.limit)
    let jpeg = markersOnly(7)
    var found = parser.take(Array("--b\r\nX-Timestamp: 1700000000.25\r\n\r\n".utf8)[...], at: .second(1))
    found += parser.take(jpeg[..<5], at: .second(2))
    found += parser.take(jpeg[5...], at: .second(3))
    #expect(
      found == [
        .picture(ReceivedPicture(bytes: jpeg, time: .second(2), serverTime: .seconds(1_700_000_000.25)))
      ])
  }

  @Test("MultipartParser buffers little of an endless part, and reads the next one")
  func bounds() {
    let junk = [UInt8](repeating: 0x41, count: 1000)
    var parser = MultipartParser(boundary: "b", pictureLimit: Self.limit)
    var found: [PictureEvent] = []
    for _ in 0..<1100 { found += parser.take(junk[...], at: .start) }

    #expect(found.count == 1, "no boundary: unusable")
    #expect(parser.waitingByteCount == 0)

    let starts: [(String, [UInt8])] = [
      ("header", Array("--b\r\nX: ".utf8)), ("text", Array("--b\r\n\r\nhello".utf8)),
      ("picture", Array("--b\r\n\r\n".utf8) + markersOnly(1).dropLast(2)),
      ("length", Array("--b\r\nContent-Length: 99999999\r\n\r\n".utf8) + markersOnly(1).dropLast(2)),
    ]

    for (what, start) in starts {
      var parser = MultipartParser(boundary: "b", pictureLimit: Self.limit)
      var found = parser.take(start[...], at: .start)
      for _ in 0..<300 {
        found += parser.take(junk[...], at: .start)
        #expect(parser.waitingByteCount <= MultipartParser.headerLimit + junk.count, "\(what)")
      }
      #expect(damagedCount(found) == 1, "\(what)")

      // And it goes on afterwards.
      found = parser.take(
        (Array("\r\n--b\r\n\r\n".utf8) + markersOnly(2) + Array("\r\n".utf8))[...], at: .start)
      #expect(pictures(found) == [markersOnly(2)], "\(what)")
    }
  }

  @Test("randomly changed multipart streams give the same events however their bytes are split")
  func fuzz() {
    var random = Sequence32(state: 0x1234_5678)
    for round in 0..<500 {
      let stream = ServedStream.all[random.below(ServedStream.all.count)]
      var bytes = stream.bytes
      for _ in 0...random.below(4) { mutate(&bytes, &random) }
      let whole = events(bytes, boundary: stream.boundary, cuts: [])
      var cuts: [Int] = []
      while (cuts.last ?? 0) < bytes.count { cuts.append((cuts.last ?? 0) + 1 + random.below(40)) }

      #expect(
        events(bytes, boundary: stream.boundary, cuts: cuts) == whole, "round \(round), \(stream.manner)")
      for picture in pictures(whole) { #expect(picture.count <= Self.limit) }

      // With little room as well, where pictures are too large.
      _ = events(bytes, boundary: stream.boundary, cuts: cuts, limit: 30)
    }
  }

  private func mutate(_ bytes: inout [UInt8], _ random: inout Sequence32) {
    guard !bytes.isEmpty else { return }
    let place = random.below(bytes.count)
    let end = min(place + 1 + random.below(30), bytes.count)
    switch random.below(6) {
    case 0: bytes[place] = UInt8(random.below(256))
    case 1: bytes.removeSubrange(place..<end)
    case 2: bytes.insert(contentsOf: bytes[place..<end], at: random.below(bytes.count))
    case 3: bytes.removeSubrange(end...)
    case 4: bytes.insert(contentsOf: Array("\r\n--frame\r\n".utf8), at: place)
    default: bytes.insert(contentsOf: [0xFF, UInt8(0xD0 + random.below(16))], at: place)
    }
  }
}

/// The same numbers in each run (Numerical Recipes' linear congruences).
struct Sequence32 {
  var state: UInt32

  mutating func below(_ limit: Int) -> Int {
    state = state &* 1_664_525 &+ 1_013_904_223
    return Int(state >> 8) % limit
  }
}
