// A snapshot as an event for other programs: a JSON object that contains the picture, within a byte limit.

extension Snapshot {
  /// One picture of a snapshot and its metadata, as a JSON object:
  ///
  /// ```json
  /// {"type": "snapshot", "camera": "door", "view": "face", "sequence": 812,
  ///  "timestamp": "2024-02-29T23:59:58.123Z", "state": "live", "width": 320, "height": 180, "bytes": 3456,
  ///  "snapshot": "/9j/4AAQ..."}
  /// ```
  ///
  /// If pictures of the source are buffered, `"replay": {"from": 1709251195.2, "to": 1709251198.1}` has the
  /// capture times of the earliest and the latest, in seconds since 1970. `snapshot` is the JPEG in base64,
  /// and `bytes` is the JPEG's own length. The caller's metadata comes before `width`.
  public struct Event: Sendable, Hashable {
    /// The kind of event, such as `snapshot`.
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
    /// The capture times of the earliest and the latest buffered picture of the source; nil if there is none.
    public let replay: ClosedRange<WallTime>?
    /// The caller's own metadata, by key.
    public let metadata: [String: JSONValue]
    /// The JPEG.
    public let picture: EncodedPicture

    /// The object's keys, which `metadata` can't use.
    package static let keys = [
      "type", "camera", "view", "sequence", "timestamp", "state", "replay", "width", "height", "bytes",
      "snapshot",
    ]

    /// The object in UTF-8.
    public var json: [UInt8] {
      json(picture.size, byteCount: picture.bytes.count, Base64.encoded(picture.bytes))
    }

    /// The object as text.
    public var text: String { String(decoding: json, as: UTF8.self) }

    /// Writes the object to the file at `path`, as `EncodedPicture.write(to:)` does.
    ///
    /// - Throws: `WriteError`; no partial file remains.
    public func write(to path: String) throws(WriteError) { try PictureFile.write(json, to: path) }

    /// The object with a picture that is already in base64.
    func json(_ size: Size, byteCount: Int, _ base64: [UInt8]) -> [UInt8] {
      var writer = JSONObjectWriter()
      writer.append("type", .string(type))
      writer.append("camera", .string(camera))
      writer.append("view", .string(view))
      writer.append("sequence", .integer(sequence))
      writer.append("timestamp", .string(time.description))
      writer.append("state", .string(sourceState.rawValue))
      if let replay { writer.append("replay", JSONValue(replay)) }
      for (key, value) in metadata.sorted(by: { $0.key < $1.key }) { writer.append(key, value) }
      writer.append("width", .integer(size.width))
      writer.append("height", .integer(size.height))
      writer.append("bytes", .integer(byteCount))
      writer.append("snapshot", ascii: base64)
      return writer.finished()
    }
  }

  /// Creates the event of one picture, which it contains.
  ///
  /// - Parameters:
  ///   - view: the picture's name; nil for the first.
  ///   - type: the kind of event.
  ///   - maxEventBytes: the most bytes of the whole JSON object, including base64; nil for no limit.
  ///   - quality: the quality of the JPEG, 1...100; lower if the limit requires it.
  ///   - fitting: the size that the JPEG must fit into; nil for no limit.
  ///   - metadata: the caller's own metadata, under keys that the event does not have itself.
  /// - Returns: the event.
  /// - Throws: `PictureEncoder.Failure` if there is no such picture, a key of `metadata` is reserved, or the
  ///   limit is too small.
  public func event(
    view: String? = nil, type: String = "snapshot", maxEventBytes: Int? = nil, quality: Int = 80,
    fitting: Size? = nil, metadata: [String: JSONValue] = [:]
  ) throws(PictureEncoder.Failure) -> Event {
    guard let picture = view.map({ self[$0] }) ?? pictures.first else {
      let names = pictures.map(\.name).joined(separator: ", ")
      throw PictureEncoder.Failure(
        description: "the snapshot has no picture '\(view ?? "")' (known: \(names))")
    }
    if let key = metadata.keys.sorted().first(where: Event.keys.contains) {
      throw PictureEncoder.Failure(description: "an event's '\(key)' can't be replaced")
    }
    func event(_ encoded: EncodedPicture) -> Event {
      Event(
        type: type, camera: camera, view: picture.name, sequence: sequence, time: time,
        sourceState: sourceState, replay: replay, metadata: metadata, picture: encoded)
    }
    guard let maxEventBytes else {
      return event(try picture.encodedJPEG(quality: quality, fitting: fitting))
    }
    // The real numbers may be shorter than these, but never longer.
    let nothing = EncodedPicture(bytes: [], quality: nil, size: picture.picture.size)
    let envelope = event(nothing).json(nothing.size, byteCount: max(maxEventBytes, 0), []).count
    let room = max(maxEventBytes - envelope, 0) / 4 * 3
    do throws(PictureEncoder.Failure) {
      return event(try picture.encodedJPEG(quality: quality, maxBytes: room, fitting: fitting))
    } catch {
      throw PictureEncoder.Failure(
        description: "an event of \(maxEventBytes) bytes has \(room) for its picture: \(error)")
    }
  }
}
