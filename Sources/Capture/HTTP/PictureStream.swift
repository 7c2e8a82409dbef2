// Finds pictures in a server's bytes, whatever surrounds them, and defines the events of a stream. No I/O and
// no clock: bytes and times are passed in.

/// A picture as a server sent it, possibly with other bytes before it (`PictureStart`).
struct ReceivedPicture: Sendable, Hashable {
  var bytes: [UInt8]
  /// The arrival time of its first byte.
  var time: CaptureInstant
  /// The server's capture time: `X-Timestamp`.
  var serverTime: Duration?
}

enum PictureEvent: Sendable, Hashable {
  case picture(ReceivedPicture)
  /// A picture of another node's video.
  case sample(VideoSample)
  /// Data that is not a usable picture, with the reason in one line.
  case damaged(String)
  /// No picture can follow, for this reason, in one line.
  case unusable(String)

  var isPicture: Bool {
    switch self {
    case .picture, .sample: true
    case .damaged, .unusable: false
    }
  }

  /// Returns the event of a picture that ends with the stream. If its samples have begun, possibly only its
  /// end marker is missing, and the decoder finds whether it is complete.
  static func last(_ picture: ReceivedPicture) -> PictureEvent {
    let startOfScan: [UInt8] = [0xFF, 0xDA]
    let hasSamples = picture.bytes.firstRange(of: startOfScan) != nil
    return hasSamples ? .picture(picture) : .damaged("the last picture is cut short")
  }
}

/// Finds pictures in bytes that arrive in pieces of any size.
protocol PictureStream: Sendable {
  /// Returns the events that `bytes`, which arrived at `time`, complete.
  mutating func take(_ bytes: ArraySlice<UInt8>, at time: CaptureInstant) -> [PictureEvent]

  /// Returns the events of the bytes that are left at the end of the stream.
  mutating func finish() -> [PictureEvent]

  /// The number of bytes that are stored for an incomplete picture.
  var waitingByteCount: Int { get }

  /// The least number of bytes before the next event, as far as the stream declares it; otherwise 1.
  var missingByteCount: Int { get }
}

extension PictureStream {
  var missingByteCount: Int { 1 }
}

/// Concatenated JPEGs.
struct JPEGRun: PictureStream {
  /// The most consecutive bytes without a picture. Beyond these, the stream is abandoned.
  static let mostStrayBytes = PictureStart.searchLimit

  private var splitter: MJPEGSplitter
  private var began: CaptureInstant?
  private var strayCount = 0

  init(pictureLimit: Int) { splitter = MJPEGSplitter(pictureLimit: pictureLimit) }

  mutating func take(_ bytes: ArraySlice<UInt8>, at time: CaptureInstant) -> [PictureEvent] {
    var events: [PictureEvent] = []
    var rest = bytes
    while !rest.isEmpty {
      do throws(MJPEGSplitter.TooLarge) {
        let (count, picture) = try splitter.take(rest)
        rest = rest.dropFirst(count)
        if let picture {
          events.append(.picture(ReceivedPicture(bytes: picture, time: began ?? time)))
          began = nil
        }
        strayCount = picture == nil && splitter.partialPicture.isEmpty ? strayCount + count : 0
        if !splitter.partialPicture.isEmpty { began = began ?? time }
      } catch {
        events.append(.damaged("a picture is larger than \(splitter.pictureLimit >> 20) MiB"))
        // The rest of these bytes is dropped; the search continues in the next ones.
        rest = []
        began = nil
      }
    }
    if strayCount > Self.mostStrayBytes {
      events.append(.unusable("sends \(strayCount >> 20) MiB without a picture"))
    }
    return events
  }

  var waitingByteCount: Int { splitter.partialPicture.count }

  mutating func finish() -> [PictureEvent] {
    guard !splitter.partialPicture.isEmpty else { return [] }
    return [.last(ReceivedPicture(bytes: Array(splitter.partialPicture), time: began ?? .start))]
  }
}

struct PartHeader {
  var contentType: String?
  var contentLength: Int?
  var timestamp: Duration?
  var byteCount = 0

  mutating func add(_ line: ArraySlice<UInt8>, byteCount count: Int) {
    byteCount += count
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
    let name = String(decoding: line[..<colon], as: UTF8.self).trimmed.lowercased()
    let value = String(decoding: line[(colon + 1)...], as: UTF8.self).trimmed
    switch name {
    case "content-type": contentType = String(value.prefix { $0 != ";" }.prefix(60)).trimmed
    case "content-length": contentLength = Int(value).flatMap { $0 > 0 ? $0 : nil }
    case "x-timestamp": timestamp = ServerTime.parsed(value)
    default: break
    }
  }
}

/// Interprets `X-Timestamp`: some servers send the time of day, some the time since they started.
enum ServerTime {
  /// Plausible ages. Outside this range, one of the two clocks is wrong, or the value is not a time of day.
  private static let plausibleAge = Duration.milliseconds(-100)...Duration.seconds(10)

  /// Parses a time in seconds; nil if `text` is not a time. Decimal digits are read exactly: a `Double` of
  /// the current time is exact only to a quarter of a microsecond, which would change the last of six digits.
  static func parsed(_ text: String) -> Duration? {
    guard let seconds = Double(text), seconds > 0, seconds < 1e11 else { return nil }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let whole = Int64(parts[0]), parts[1].utf8.count <= 9,
      parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let nanoseconds = Int64(parts[1] + String(repeating: "0", count: 9 - parts[1].utf8.count))
    else { return .seconds(seconds) }
    return .seconds(whole) + .nanoseconds(nanoseconds)
  }

  /// Returns the capture time by the clock of `received`, the arrival time of the picture's first byte.
  static func captureTime(
    _ server: Duration?, received: CaptureInstant, receivedSince1970: Duration
  ) -> CaptureInstant {
    guard let server else { return received }
    let age = receivedSince1970 - server
    return plausibleAge.contains(age) ? received - max(age, .zero) : received
  }
}
