// A snapshot on its way to another program: a JSON object that holds the picture itself, within a budget.
internal import FoundationEssentials
public import PreviewCore

/// One picture of a snapshot, and what there is to say of it, as a JSON object:
///
/// ```json
/// {"bytes": 3456, "camera": "door", "height": 180, "sequence": 812, "snapshot": "/9j/4AAQ...", "state": "live",
///  "timestamp": "2024-02-29T23:59:58.123Z", "type": "snapshot", "view": "face", "width": 320}
/// ```
///
/// `snapshot` is the JPEG in base64, `bytes` its length before that. Keys are in alphabetical order.
public struct SnapshotEvent: Sendable, Hashable {
  /// What happened.
  public let type: String
  /// The source's name.
  public let camera: String
  /// Which picture of the snapshot it is.
  public let view: String
  /// The frame's number among its source's.
  public let sequence: Int
  /// When the frame was captured.
  public let time: WallTime
  /// How the source was.
  public let sourceState: SourceState
  /// What else is said, by keys of the caller's own.
  public let metadata: [String: EventValue]
  /// The JPEG.
  public let picture: EncodedPicture

  /// The object's keys; `metadata` can have none of them.
  public static let keys = [
    "type", "camera", "view", "sequence", "timestamp", "state", "width", "height", "bytes", "snapshot",
  ]

  /// The object, UTF-8.
  public var json: [UInt8] {
    json(picture.size, byteCount: picture.bytes.count, picture.base64)
  }

  /// The same as text.
  public var text: String { String(decoding: json, as: UTF8.self) }

  /// The object around a picture that is in base64 already.
  func json(_ size: Size, byteCount: Int, _ base64: String) -> [UInt8] {
    let own: [String: EventValue] = [
      "type": .string(type), "camera": .string(camera), "view": .string(view), "sequence": .integer(sequence),
      "timestamp": .string(time.description), "state": .string(sourceState.rawValue),
      "width": .integer(size.width), "height": .integer(size.height), "bytes": .integer(byteCount),
      "snapshot": .string(base64),
    ]
    let encoder = JSONEncoder()
    // An escaped slash in base64 would be another byte.
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Strings and finite numbers can always be encoded.
    return (try? encoder.encode(own.merging(metadata) { own, _ in own })).map(Array.init) ?? []
  }
}

extension Snapshot {
  /// The event that says what one of the pictures shows, and holds it.
  ///
  /// - Parameters:
  ///   - view: which picture; nil is the first.
  ///   - type: what happened.
  ///   - maxEventBytes: the most bytes of the whole JSON object, base64 and all else included; nil is no limit.
  ///   - quality: of the JPEG, 1...100, where it need not be less.
  ///   - fitting: the size that the JPEG must lie within; nil leaves it.
  ///   - metadata: what else is to be said, by keys that are none of `SnapshotEvent.keys`.
  /// - Returns: the event; `json` has it as text.
  /// - Throws: `EncodingError` where there is no such picture, a key of `metadata` is taken, or the budget is too small.
  public func event(
    view: String? = nil, type: String = "snapshot", maxEventBytes: Int? = nil, quality: Int = 80,
    fitting: Size? = nil, metadata: [String: EventValue] = [:]
  ) throws(EncodingError) -> SnapshotEvent {
    guard let picture = view.map({ self[$0] }) ?? pictures.first else {
      let names = pictures.map(\.name).joined(separator: ", ")
      throw EncodingError(description: "the snapshot has no picture '\(view ?? "")' (there are: \(names))")
    }
    if let key = metadata.keys.sorted().first(where: SnapshotEvent.keys.contains) {
      throw EncodingError(description: "an event's '\(key)' can't be given another meaning")
    }
    func event(_ encoded: EncodedPicture) -> SnapshotEvent {
      SnapshotEvent(
        type: type, camera: camera, view: picture.name, sequence: sequence, time: time,
        sourceState: sourceState, metadata: metadata, picture: encoded)
    }
    guard let maxEventBytes else {
      return event(try picture.encodedJPEG(quality: quality, fitting: fitting))
    }
    // The numbers may come out shorter than these, never longer.
    let nothing = EncodedPicture(bytes: [], quality: nil, size: picture.picture.size)
    let envelope = event(nothing).json(nothing.size, byteCount: max(maxEventBytes, 0), "").count
    let room = max(maxEventBytes - envelope, 0) / 4 * 3
    do throws(EncodingError) {
      return event(try picture.encodedJPEG(quality: quality, maxBytes: room, fitting: fitting))
    } catch {
      throw EncodingError(
        description: "an event of \(maxEventBytes) bytes has \(room) for its picture: \(error)")
    }
  }
}
