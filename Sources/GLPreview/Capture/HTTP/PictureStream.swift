// What bytes from a server come to, whatever they are wrapped in. No I/O and no clock: bytes and times go in.

/// A picture as a server sent it.
struct ReceivedPicture: Sendable, Hashable {
  let jpeg: [UInt8]
  /// When its first byte came.
  let time: Duration
  /// What the server says of when it was taken: `X-Timestamp`, in seconds.
  var serverTime: Double?
}

/// What becomes of bytes.
enum PictureEvent: Sendable, Hashable {
  case picture(ReceivedPicture)
  /// There was something, but no picture; why, in one line.
  case damaged(String)
  /// The server says that there is no more.
  case ended
  /// Nothing good can come any more; why, in one line.
  case hopeless(String)
}

extension PictureEvent {
  var isPicture: Bool { if case .picture = self { true } else { false } }
}

/// Finds pictures in bytes that come in pieces of any size.
protocol PictureStream: Sendable {
  /// What `bytes`, which came at `time`, complete.
  mutating func take(_ bytes: ArraySlice<UInt8>, at time: Duration) -> [PictureEvent]

  /// What the end of the stream makes of bytes that are left over.
  mutating func finish() -> [PictureEvent]

  /// Bytes that are held for a picture that is not whole yet.
  var waitingByteCount: Int { get }
}

/// JPEGs one after another.
struct JPEGRun: PictureStream {
  /// Bytes that are no picture, in a row, after which there will be none.
  static let patience = 1 << 20

  private var splitter: MJPEGSplitter
  private var began: Duration?
  private var strayCount = 0

  init(pictureLimit: Int) { splitter = MJPEGSplitter(pictureLimit: pictureLimit) }

  mutating func take(_ bytes: ArraySlice<UInt8>, at time: Duration) -> [PictureEvent] {
    var events: [PictureEvent] = []
    var rest = bytes
    while !rest.isEmpty {
      do throws(MJPEGSplitter.TooLarge) {
        let (count, picture) = try splitter.take(rest)
        rest = rest.dropFirst(count)
        if let picture {
          events.append(.picture(ReceivedPicture(jpeg: picture, time: began ?? time)))
          began = nil
        }
        strayCount = picture == nil && splitter.partialPicture.isEmpty ? strayCount + count : 0
        if !splitter.partialPicture.isEmpty { began = began ?? time }
      } catch {
        events.append(.damaged("a picture is larger than \(splitter.pictureLimit >> 20) MiB"))
        // What is left of it is looked through for the next one.
        rest = []
        began = nil
      }
    }
    if strayCount > Self.patience {
      events.append(.hopeless("sends \(strayCount >> 20) MiB without a picture"))
    }
    return events
  }

  var waitingByteCount: Int { splitter.partialPicture.count }

  mutating func finish() -> [PictureEvent] {
    splitter.partialPicture.isEmpty ? [] : [.damaged("the last picture is cut short")]
  }
}
