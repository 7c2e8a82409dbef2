// The ring against a plain model: what is kept, in which order, within which bytes and which time.
import PreviewCore
import TestSupport
import Testing

@testable import CaptureCore
@testable import GLPreview

@Suite("ReplayRing")
struct ReplayRingTests {
  private typealias Ring = ReplayRing<Int>
  private typealias Entry = Ring.Entry

  private static func time(_ milliseconds: Int) -> CaptureInstant {
    CaptureInstant(sinceStart: .milliseconds(milliseconds))
  }

  private static func entry(_ content: Int, at milliseconds: Int, bytes: Int = 1, isKey: Bool = true) -> Entry
  {
    Entry(content: content, timestamp: time(milliseconds), byteCount: bytes, isKey: isKey)
  }

  private static func ring(
    seconds: Int = 10, bytes: Int = 1000, _ entries: [Entry]
  ) -> Ring {
    var ring = Ring(duration: .seconds(seconds), maximumBytes: bytes)
    for entry in entries { ring.put(entry) }
    return ring
  }

  private static func contents(_ ring: Ring) -> [Int] { ring.entries.map(\.content) }

  // MARK: Limits

  @Test("a ring at its byte limit drops nothing; one more byte drops the first picture")
  func exactly() {
    let full = Self.ring(bytes: 30, (0..<3).map { Self.entry($0, at: $0, bytes: 10) })
    var more = full
    more.put(Self.entry(3, at: 3, bytes: 1))

    #expect(Self.contents(full) == [0, 1, 2] && full.byteCount == 30)
    #expect(Self.contents(more) == [1, 2, 3] && more.byteCount == 21)
  }

  @Test("a picture larger than the ring is buffered alone, until the next one")
  func large() {
    var ring = Self.ring(bytes: 30, [Self.entry(0, at: 0, bytes: 10), Self.entry(1, at: 1, bytes: 31)])
    #expect(Self.contents(ring) == [1] && ring.byteCount == 31)

    ring.put(Self.entry(2, at: 2, bytes: 5))
    #expect(Self.contents(ring) == [2] && ring.byteCount == 5)
  }

  @Test("the ring covers its full duration, from the last picture at or before its start")
  func age() {
    let ring = Self.ring(seconds: 1, (0...40).map { Self.entry($0, at: $0 * 100) })

    #expect(ring.path(to: Self.time(3000)).map(\.content) == [30])
    #expect(Self.contents(ring) == Array(30...40))
  }

  @Test("the last picture before a gap stays buffered")
  func gap() {
    let ring = Self.ring(
      seconds: 1, [Self.entry(0, at: 0), Self.entry(1, at: 100), Self.entry(2, at: 60000)])

    #expect(Self.contents(ring) == [1, 2])
    #expect(ring.path(to: Self.time(59000)).map(\.content) == [1])
  }

  @Test("of pictures with equal timestamps, the last one is found")
  func equal() {
    let ring = Self.ring((0..<4).map { Self.entry($0, at: 5) })

    #expect(ring.path(to: Self.time(5)).map(\.content) == [3])
    #expect(ring.path(to: Self.time(4)).isEmpty)
  }

  @Test("if timestamps jump back, pictures of both times are found, and distant ones are dropped")
  func backwards() {
    let near = Self.ring([5000, 6000, 5200, 5300].enumerated().map { Self.entry($0, at: $1) })
    let far = Self.ring([900_000, 900_100, 0, 100].enumerated().map { Self.entry($0, at: $1) })

    #expect(near.path(to: Self.time(5250)).map(\.content) == [2])
    #expect(near.path(to: Self.time(6000)).map(\.content) == [3])
    #expect(near.span == Self.time(5000)...Self.time(6000))
    #expect(Self.contents(far) == [1, 2, 3])
    #expect(far.path(to: Self.time(50)).map(\.content) == [2])
  }

  // MARK: Groups

  @Test("groups of pictures are dropped as a whole, and a path begins with its keyframe")
  func groups() {
    let entries = (0..<9).map { Self.entry($0, at: $0 * 100, bytes: 10, isKey: $0 % 3 == 0) }

    let ring = Self.ring(bytes: 80, entries)

    #expect(Self.contents(ring) == Array(3...8))
    #expect(ring.path(to: Self.time(550)).map(\.content) == [3, 4, 5])
  }

  @Test("frames are not buffered without their keyframe, or after a frame that did not fit")
  func orphans() {
    let ring = Self.ring(
      bytes: 30,
      [
        Self.entry(0, at: 0, isKey: false), Self.entry(1, at: 1, bytes: 20),
        Self.entry(2, at: 2, bytes: 20, isKey: false), Self.entry(3, at: 3, isKey: false),
      ])

    #expect(Self.contents(ring) == [1])
  }

  // MARK: Against a model

  /// The same by copying everything each time.
  private struct Model {
    let duration: Duration
    let maximumBytes: Int
    var groups: [[Entry]] = []
    var waitsForKey = true
    var all: [Entry] { groups.flatMap(\.self) }
    var bytes: Int { all.reduce(0) { $0 + $1.byteCount } }

    mutating func put(_ entry: Entry) {
      if entry.isKey { groups.append([entry]) }
      if !entry.isKey, waitsForKey { return }
      waitsForKey = false
      if !entry.isKey { groups[groups.count - 1].append(entry) }
      while bytes > maximumBytes, groups.count > 1 { groups.removeFirst() }
      if bytes > maximumBytes, groups[0].count > 1 {
        groups[0].removeLast()
        waitsForKey = true
      }
      while groups.count > 1 {
        let distance = entry.timestamp.sinceStart - groups[1][0].timestamp.sinceStart
        guard max(distance, .zero - distance) >= duration else { break }
        groups.removeFirst()
      }
    }
  }

  @Test("for random input, the ring holds the same pictures as a simple model", arguments: 0..<60)
  func model(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let isGrouped = seed % 2 == 1
    var model = Model(
      duration: .milliseconds(.random(in: 1...3000, using: &random)),
      maximumBytes: .random(in: 1...400, using: &random))
    var ring = Ring(duration: model.duration, maximumBytes: model.maximumBytes)
    var now = 0
    for content in 0..<300 {
      let jump = Int.random(in: 0..<50, using: &random)
      now = max(
        0, now + (jump == 0 ? .random(in: -4000...4000, using: &random) : .random(in: 0...60, using: &random))
      )
      let entry = Self.entry(
        content, at: now, bytes: .random(in: 1...(jump == 1 ? 500 : 30), using: &random),
        isKey: !isGrouped || Int.random(in: 0..<6, using: &random) == 0)
      model.put(entry)
      ring.put(entry)

      #expect(Self.contents(ring) == model.all.map(\.content))
      #expect(ring.byteCount == model.bytes)
      #expect(ring.entries.first?.isKey ?? true)
      let wanted = Self.time(.random(in: 0...(now + 10), using: &random))
      let found = model.all.last { $0.timestamp <= wanted }?.content
      #expect(ring.path(to: wanted).last?.content == found)
      #expect(ring.path(to: wanted).first?.isKey ?? true)
      let range = min(wanted, Self.time(now))...max(wanted, Self.time(now))
      #expect(
        ring.pictures(in: range).map(\.content)
          == model.all.filter { range.contains($0.timestamp) }.map(\.content))
    }
  }

  @Test("100,000 pictures need at most 512 slots, and no picture is copied")
  func flat() {
    let picture = [UInt8](repeating: 7, count: 1000)
    var ring = ReplayRing<[UInt8]>(duration: .seconds(3600), maximumBytes: 100_000)
    for number in 0..<100_000 {
      ring.put(.init(content: picture, timestamp: Self.time(number), byteCount: picture.count))
    }

    #expect(ring.count == 100 && ring.byteCount == 100_000)
    #expect(ring.slotCount <= 512)
    let address = unsafe picture.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    for entry in ring.entries {
      let other = unsafe entry.content.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
      #expect(other == address)
    }
  }
}
