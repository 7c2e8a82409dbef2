// A snapshot on its way to another program: a JSON object that holds the picture itself, within a budget.
internal import FoundationEssentials
public import PreviewCore

/// One picture of a snapshot and its metadata, as a JSON object:
///
/// ```json
/// {"bytes": 3456, "camera": "door", "height": 180, "sequence": 812, "snapshot": "/9j/4AAQ...", "state": "live",
///  "timestamp": "2024-02-29T23:59:58.123Z", "type": "snapshot", "view": "face", "width": 320}
/// ```
///
/// `snapshot` is the JPEG in base64, and `bytes` is its length before that. The caller's metadata comes before `width`.
public struct SnapshotEvent: Sendable, Hashable {
  /// What happened.
  public let type: String
  /// The source's name.
  public let camera: String
  /// The name of the picture in the snapshot.
  public let view: String
  /// The number of the frame in its source.
  public let sequence: Int
  /// When the frame was captured.
  public let time: WallTime
  /// The state of the source.
  public let sourceState: SourceState
  /// The caller's own metadata, by key.
  public let metadata: [String: EventValue]
  /// The JPEG.
  public let picture: EncodedPicture

  /// The object's keys, which `metadata` can't use.
  public static let keys = [
    "type", "camera", "view", "sequence", "timestamp", "state", "width", "height", "bytes", "snapshot",
  ]

  /// The object in UTF-8.
  public var json: [UInt8] {
    json(picture.size, byteCount: picture.bytes.count, picture.base64)
  }

  /// The object as text.
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
  /// Creates the event of one picture, which it contains.
  ///
  /// - Parameters:
  ///   - view: the picture's name; nil for the first.
  ///   - type: what happened.
  ///   - maxEventBytes: the most bytes of the whole JSON object, including base64; nil for no limit.
  ///   - quality: the quality of the JPEG, 1...100; lower if the limit requires it.
  ///   - fitting: the size that the JPEG must lie within; nil for no limit.
  ///   - metadata: the caller's own metadata, whose keys are none of `SnapshotEvent.keys`.
  /// - Returns: the event.
  /// - Throws: `EncodingError` if there is no such picture, a key of `metadata` is reserved, or the limit is too small.
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
    // The real numbers may be shorter than these, but never longer.
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
