// A picture as the payloads of RTP packets (RFC 6184): split once, and sent to any number of clients.

/// The payloads of a picture, one after another. Each client has headers of its own.
package final class RTPPicture: Sendable {
  /// Payloads of one length, of which the last may be shorter. The kernel can split them into datagrams
  /// (`UDP_SEGMENT`).
  package struct Run: Sendable, Hashable {
    /// The offset of the first payload.
    package let offset: Int
    /// The bytes of all payloads, and of each but the last.
    package let count, length: Int
    /// The index of the first payload in the picture.
    package let first: Int
    package var packets: Int { (count + length - 1) / length }
  }

  package let isKey: Bool
  /// Whether it is passed through from a camera, so that no encoder can make a keyframe on request.
  package let isPassed: Bool
  package let timestamp: CaptureInstant
  package let bytes: [UInt8]
  let runs: [Run]
  /// The number of payloads.
  package let count: Int

  /// The largest payload. With the largest header and encryption, a packet is smaller than 1200 bytes, which
  /// every path carries.
  static let mostBytes = 1160

  /// Splits a picture. The parameter sets precede a keyframe's slices.
  package init(_ sample: VideoSample) {
    (isKey, timestamp) = (sample.isKey, sample.timestamp)
    isPassed = sample.format.encoder == nil
    var cutter = Cutter(capacity: sample.bytes.count + 256)
    if sample.isKey {
      cutter.add(sample.format.sps[...])
      cutter.add(sample.format.pps[...])
    }
    var offset = 0
    while offset + 4 <= sample.bytes.count {
      let length = sample.bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      let start = offset + 4
      offset = start + length
      guard length > 0, offset <= sample.bytes.count else { break }
      cutter.add(sample.bytes[start..<offset])
    }
    (bytes, runs, count) = (cutter.bytes, cutter.runs, cutter.count)
  }

  /// Returns at most `most` payloads from index `first` on that can be sent together; nil at the end.
  package func run(from first: Int, atMost most: Int) -> Run? {
    guard most > 0, let run = runs.last(where: { $0.first <= first }), first < run.first + run.packets else {
      return nil
    }
    let skipped = (first - run.first) * run.length
    return Run(
      offset: run.offset + skipped, count: min(run.count - skipped, most * run.length), length: run.length,
      first: first)
  }

  private struct Cutter {
    var bytes: [UInt8] = []
    var runs: [Run] = []
    var count = 0

    init(capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Adds a NAL unit, whole or in fragments of one length (FU-A).
    mutating func add(_ unit: ArraySlice<UInt8>) {
      guard let header = unit.first else { return }
      guard unit.count > mostBytes else { return add([], unit) }
      var rest = unit.dropFirst()
      let most = mostBytes - 2
      let fragments = (rest.count + most - 1) / most
      let length = (rest.count + fragments - 1) / fragments
      var start: UInt8 = 0x80
      while !rest.isEmpty {
        let part = rest.prefix(length)
        rest = rest.dropFirst(length)
        add([header & 0xE0 | 28, header & 0x1F | start | (rest.isEmpty ? 0x40 : 0)], part)
        start = 0
      }
    }

    private mutating func add(_ head: [UInt8], _ body: ArraySlice<UInt8>) {
      let length = head.count + body.count
      // A run ends with its first shorter payload.
      if let last = runs.last, last.count % last.length == 0, length <= last.length {
        runs[runs.count - 1] = Run(
          offset: last.offset, count: last.count + length, length: last.length, first: last.first)
      } else {
        runs.append(Run(offset: bytes.count, count: length, length: length, first: count))
      }
      bytes += head
      bytes += body
      count += 1
    }
  }
}
