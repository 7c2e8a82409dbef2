// The body of a POST that takes snapshots: the views, the times and the encoding.
internal import FoundationEssentials
internal import HTTPTypes

/// The options in a POST; an empty body means the defaults.
package struct SnapshotOptions: Sendable {
  /// View names; nil for all enabled views.
  var views: [String]?
  /// The JPEG quality; nil for the view's own.
  var quality: Int?
  /// The size limit of each JPEG, in bytes.
  var maximumBytes: Int?
  /// The fallback if the camera delivers nothing; nil for the camera's own policy.
  var offline: SnapshotRequest.FallbackPolicy?
  /// The time of the snapshot, or the end of a burst; nil for now.
  private var moment: SnapshotMoment?
  /// The duration of a burst before `moment`, and its number of frames; nil for one frame.
  private var burst: (duration: Duration, count: Int)?
  /// The time span before `moment` from which the best frame is chosen; nil for the frame at `moment`.
  private var span: Duration?
  private var request = SnapshotRequest()
  /// Whether no option chooses a current frame.
  private var isPlain = true

  /// Whether there may be several snapshots.
  var isBurst: Bool { burst != nil }

  /// Whether it requests buffered frames.
  var asksForBuffered: Bool { moment != nil || burst != nil || span != nil }

  /// Returns the modes of the buffered frames to get for a request at `now` whose trigger is `delay` late;
  /// empty for a current frame.
  func buffered(at now: CaptureInstant, delay: Duration) -> [SnapshotRequest.Mode] {
    guard asksForBuffered || isPlain && delay > .zero else { return [] }
    let end = moment?.instant(at: now, delay: delay) ?? now - delay
    if let span { return [.sharpest(end - span...end)] }
    return [CaptureInstant](before: end, burst?.duration ?? .zero, count: burst?.count ?? 1).map { .at($0) }
  }

  /// Returns the request to the session; `offline` is the camera's policy.
  func request(offline: SnapshotRequest.FallbackPolicy) -> SnapshotRequest {
    var request = request
    request.fallback = self.offline ?? offline
    return request
  }

  private struct Body: Decodable {
    var views: [String]?
    var quality: Int?
    var maximumBytes: Int?
    var maximumAge: Int?
    var timeout: Int?
    var still: Bool?
    var settle: Int?
    var offline: String?
    var at: TimeText?
    var before: TimeText?
    var count: Int?
    var best: String?
    var within: TimeText?

    enum CodingKeys: String, CodingKey, CaseIterable {
      case views, quality
      case maximumBytes = "max_bytes"
      case maximumAge = "max_age"
      case timeout, still, settle, offline, at, before, count, best, within
    }
  }

  /// Parses a body; `timeout` is the default.
  ///
  /// - Throws: `Problem` 400 that names the error; `ParameterError`.
  package init(json: [UInt8], timeout: Duration) throws {
    request.timeout = timeout
    guard !json.isEmpty else { return }
    let body: Body
    do {
      let keys = try JSONDecoder().decode([String: AnyValue].self, from: Data(json)).keys
      let known = Body.CodingKeys.allCases.map(\.rawValue)
      if let unknown = keys.sorted().first(where: { !known.contains($0) }) {
        throw Problem.badParameter(
          unknown, "unknown key '\(unknown)' (known: \(known.joined(separator: ", ")))")
      }
      body = try JSONDecoder().decode(Body.self, from: Data(json))
    } catch let error as DecodingError {
      throw Problem(.badRequest, "the body is invalid: \(error.place)")
    }
    views = body.views
    quality = try Self.checked("quality", body.quality, 1...100)
    maximumBytes = try Self.checked("max_bytes", body.maximumBytes, 1...1_000_000_000)
    let age = try Self.checked("max_age", body.maximumAge, 0...86_400_000)
    let timeout = try Self.checked("timeout", body.timeout, 1...60_000)
    let settle = try Self.checked("settle", body.settle, 0...100)
    if let word = body.offline {
      offline = try ParameterParser.choice("offline", word, as: SnapshotRequest.FallbackPolicy.self)
    }
    request.timeout = timeout.map { .milliseconds($0) } ?? request.timeout
    moment = try body.at.map { try SnapshotMoment(parsing: $0.text, key: "at") }
    let count = try Self.checked("count", body.count, 1...Self.mostOfBurst)
    burst = try body.before.map { (try SnapshotMoment.duration($0.text, key: "before"), count ?? 6) }
    if count != nil, burst == nil {
      throw Problem.badParameter("count", "'count' needs 'before', the time that the pictures are from")
    }
    let best = try body.best.map { try ParameterParser.choice("best", $0, as: SnapshotBest.self) }
    span = try SnapshotMoment.span(best, within: body.within?.text)
    guard span == nil || burst == nil else {
      throw Problem.badParameter(
        "best", "'before' requests several pictures: it can't be combined with 'best'")
    }
    isPlain = body.still == nil && age == nil
    guard isPlain || moment == nil && burst == nil && span == nil else {
      throw Problem.badParameter(
        moment != nil ? "at" : burst != nil ? "before" : "best",
        "max_age and still can't be combined with an earlier time")
    }
    request.mode =
      switch (body.still ?? false, age) {
      case (true, _): .still(settling: settle ?? 2)
      case (false, 0): .next
      case (false, let age): .newest(maxAge: age.map { .milliseconds($0) } ?? .seconds(1))
      }
  }

  private static let mostOfBurst = 20

  /// The schema of the body.
  static let schema: JSONSchema = {
    let time = JSONSchema.keywords(["type": ["string", "number", "null"]])
    return .object(
      [
        .optional(
          "views", .keywords(["type": ["array", "null"], "items": ["type": "string"]]),
          "the names of views; all enabled views by default"),
        .optional("quality", .integer(in: 1...100).orNull),
        .optional(
          "max_bytes", .integer(in: 1...1_000_000_000).orNull, "the maximum size of each JPEG in bytes"),
        .optional(
          "max_age", .integer(in: 0...86_400_000).orNull,
          "the maximum age of the frame in ms; 1000 by default"),
        .optional("timeout", .integer(in: 1...60_000).orNull, "the maximum wait for a frame in ms"),
        .optional("still", .boolean.orNull, "whether the frame is captured in the camera's largest size"),
        .optional(
          "settle", .integer(in: 0...100).orNull,
          "the frames to skip after the change to that size; 2 by default"),
        .optional("offline", .choice(SnapshotRequest.FallbackPolicy.self).orNull),
        .optional("at", time, "the capture time: a time before now, such as `-2s`, or seconds since 1970"),
        .optional("before", time, "takes several pictures, from this time before `at`, such as `3s`"),
        .optional(
          "count", .integer(in: 1...mostOfBurst).orNull, "the number of these pictures; 6 by default"),
        .optional("best", .choice(SnapshotBest.self).orNull, "selects the best picture of the time `within`"),
        .optional("within", time, "the time before `at` from which `best` selects; `2s` by default"),
      ], isClosed: true)
  }()

  private static func checked(_ key: String, _ number: Int?, _ range: ClosedRange<Int>) throws(Problem)
    -> Int?
  {
    guard let number, !range.contains(number) else { return number }
    throw .badParameter(key, "\(number) is not from \(range.lowerBound) to \(range.upperBound)")
  }
}

/// A string, or a number as text.
private struct TimeText: Decodable {
  let text: String

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let text = try? value.decode(String.self) {
      self.text = text
    } else {
      text = "\(try value.decode(Double.self))"
    }
  }
}

/// A JSON value of any type.
private struct AnyValue: Decodable {
  init(from decoder: any Decoder) throws {}
}

extension DecodingError {
  /// A short description of the place and kind of a decoding error.
  fileprivate var place: String {
    let context: Context? =
      switch self {
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
        .dataCorrupted(let context):
        context
      @unknown default: nil
      }
    let path = context?.codingPath.map(\.stringValue).joined(separator: ".") ?? ""
    return path.isEmpty ? "it is not a JSON object" : "'\(path)' has the wrong type"
  }
}
