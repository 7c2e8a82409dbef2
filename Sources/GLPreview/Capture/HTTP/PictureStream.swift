// Finds pictures in a server's bytes, whatever surrounds them. No I/O and no clock: bytes and times are passed in.
internal import PreviewCore

/// A picture as a server sent it.
struct ReceivedPicture: Sendable, Hashable {
  let jpeg: [UInt8]
  /// When its first byte arrived.
  let time: CaptureInstant
  /// The server's time of capture: `X-Timestamp`, in seconds.
  var serverTime: Double?
}

/// What was found in a stream.
enum PictureEvent: Sendable, Hashable {
  case picture(ReceivedPicture)
  /// Data that is no usable picture; why, in one line.
  case damaged(String)
  /// The server says that the stream has ended.
  case ended
  /// No picture can follow; why, in one line.
  case hopeless(String)
}

extension PictureEvent {
  var isPicture: Bool { if case .picture = self { true } else { false } }
}

/// Finds pictures in bytes that arrive in pieces of any size.
protocol PictureStream: Sendable {
  /// The events that `bytes`, which arrived at `time`, complete.
  mutating func take(_ bytes: ArraySlice<UInt8>, at time: CaptureInstant) -> [PictureEvent]

  /// The events of the bytes that are left at the end of the stream.
  mutating func finish() -> [PictureEvent]

  /// The bytes that are held for an incomplete picture.
  var waitingByteCount: Int { get }
}

/// JPEGs one after another.
struct JPEGRun: PictureStream {
  /// The most consecutive bytes without a picture; after them the stream is given up.
  static let patience = 1 << 20

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
          events.append(.picture(ReceivedPicture(jpeg: picture, time: began ?? time)))
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
