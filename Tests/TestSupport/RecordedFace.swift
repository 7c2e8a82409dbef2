// Faces that other programs meet, as lines of a file: a test compares them with what runs, and `make api` writes them.
package import Foundation
package import Testing

package enum RecordedFace {
  /// Compares lines with those of a file, in which their order says nothing.
  package static func compare(
    _ lines: [String], with file: URL, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    if ProcessInfo.processInfo.environment["GLPREVIEW_RECORD_API"] != nil {
      try (lines.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
    }
    let recorded = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
    let (now, before) = (Set(lines.filter { !$0.isEmpty }), Set(recorded))
    #expect(
      now.subtracting(before).sorted() == [], "new: make api writes it", sourceLocation: sourceLocation)
    #expect(
      before.subtracting(now).sorted() == [], "gone: make api writes it", sourceLocation: sourceLocation)
  }

  /// The paths of all members of a value that JSON was parsed to: `.cameras[].views[].name: string`.
  package static func members(_ value: Any, _ path: String = "") -> [String] {
    switch value {
    case let object as [String: Any]: object.flatMap { members($1, "\(path).\($0)") }
    case let array as [Any]: array.isEmpty ? ["\(path)[]"] : array.flatMap { members($0, "\(path)[]") }
    case is String: ["\(path): string"]
    case is NSNull: ["\(path): null"]
    default: ["\(path): number or boolean"]
    }
  }

  /// An object; nil for other bytes.
  package static func object(_ bytes: [UInt8]) -> [String: Any]? {
    (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]
  }

  /// The members of an object; empty for other bytes.
  package static func members(of bytes: [UInt8]) -> [String] { object(bytes).map { members($0) } ?? [] }

  /// Numbers, identifiers and hashes of header fields are another each time.
  package static func withoutNumbers(_ text: String) -> String {
    text.replacing(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, with: "UUID")
      .replacing(/[0-9a-f]{16,64}/, with: "HEX").replacing(/^[0-9]+(\.[0-9]+)?$/, with: "NUMBER")
  }

  /// Options of streams and consumers that clients of NATS give; servers add others.
  private static let options: Set<String> = [
    "name", "subjects", "retention", "storage", "discard", "num_replicas", "max_msgs", "max_msgs_per_subject",
    "max_bytes", "max_msg_size", "max_age", "duplicate_window", "allow_direct", "allow_rollup_hdrs",
    "deny_delete", "max_consumers", "durable_name", "deliver_policy", "ack_policy", "ack_wait", "max_deliver",
    "max_ack_pending", "filter_subject", "replay_policy",
  ]

  /// The configuration in NATS's answer about a stream or a consumer, a line for each option.
  package static func configuration(in answer: [UInt8]) -> [String] {
    let configuration = object(answer)?["config"] as? [String: Any] ?? [:]
    return configuration.filter { options.contains($0.key) }.map { "\($0.key): \(text($0.value))" }
  }

  /// A value as JSON with its members in one order.
  package static func text(_ value: Any) -> String {
    let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed]
    return (try? JSONSerialization.data(withJSONObject: value, options: options)).map {
      String(decoding: $0, as: UTF8.self)
    } ?? "?"
  }
}
