// A parser as a fuzzer sees it: bytes go in, and what must hold of whatever comes out is checked. `make fuzz` runs these
// with libFuzzer, `FuzzTests` replays seeds and earlier findings.

/// One parser.
struct FuzzTarget: Sendable {
  /// In file names and on the command line.
  let name: String
  /// Longer inputs are not tried, in bytes.
  let longest: Int
  /// Words of the format, for libFuzzer's dictionary.
  let words: [String]
  /// Valid inputs, from which others are made.
  let seeds: @Sendable () throws -> [[UInt8]]
  /// Gives an input to the parser.
  let body: Body

  /// How an input is given to a parser. All bodies throw `FuzzFault` alone: a refused input is no fault.
  enum Body: Sendable {
    case atOnce(@Sendable ([UInt8]) throws(FuzzFault) -> Void)
    case waiting(@Sendable ([UInt8]) async throws(FuzzFault) -> Void)
  }

  /// Runs the target on one input.
  ///
  /// - Throws: `FuzzFault` where the parser breaks a promise.
  func run(_ input: [UInt8]) async throws(FuzzFault) {
    switch body {
    case .atOnce(let body): try body(input)
    case .waiting(let body): try await body(input)
    }
  }

  /// All targets.
  static let all: [FuzzTarget] =
    [
      .jpeg, .passable, .exif, .png, .y4m, .mjpeg, .multipart, .fragments, .mp4Index, .httpAddress,
      .httpResponse, .httpHead, .rtspTunnel, .certificate, .h264,
    ]
    + streams + [
      .view, .scene, .mask, .configuration, .query, .json, .webhook, .access, .stun, .sdp, .rtcp, .rtsp,
      .webSocket, .nats, .broker, .eventStream, .zone, .motionRecording, .mqtt, .byteRange, .stampedName,
      .moment,
      .hostName, .link, .schedule, .motionChange, .peerListing, .leaseRecord, .job, .hostList,
    ]

  #if FFmpeg
    private static let streams = [FuzzTarget.streamAddress]
  #else
    private static let streams: [FuzzTarget] = []
  #endif
}

/// A promise that a parser broke.
struct FuzzFault: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Throws where something that must hold does not.
func must(_ holds: Bool, _ promise: @autoclosure () -> String) throws(FuzzFault) {
  if !holds { throw FuzzFault(promise()) }
}

/// Takes an input apart: a few of its bytes choose, the rest is parsed.
struct FuzzInput {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  /// The next byte; 0 at the end.
  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// Up to the next newline, which is taken too, as text.
  mutating func line() -> String {
    let line = rest.prefix { $0 != UInt8(ascii: "\n") }
    rest = rest.dropFirst(line.count + 1)
    return String(decoding: line, as: UTF8.self)
  }

  /// What is left, as lines.
  mutating func lines() -> [String] {
    var lines: [String] = []
    while !rest.isEmpty { lines.append(line()) }
    return lines
  }

  /// What is left.
  var bytes: [UInt8] { Array(rest) }
}

extension [String] {
  /// Each as the bytes of an input.
  var inputs: [[UInt8]] { map { [UInt8]($0.utf8) } }
}
