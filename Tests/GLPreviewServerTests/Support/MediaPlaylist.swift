// Holds playlists of HLS against the rules of RFC 8216, one after another as a player fetches them.
import Foundation
import Testing

/// A media playlist, as a player reads it.
struct MediaPlaylist {
  struct Segment: Equatable {
    let uri: String
    let map: String
    let duration: Double
    let discontinuity: Int
  }

  /// A rule that the playlist breaks, by the section that has it.
  struct Broken: Error, CustomStringConvertible {
    let description: String
  }

  private(set) var target = 0
  private(set) var sequence = 0
  private(set) var segments: [Segment] = []

  /// - Throws: `Broken`.
  init(_ text: String) throws {
    func demand(_ isRight: Bool, _ rule: String) throws {
      if !isRight { throw Broken(description: "\(rule):\n\(text)") }
    }
    try demand(text.hasPrefix("#EXTM3U\n") && text.hasSuffix("\n"), "4.3.1.1 the first line")
    var (values, tags) = ([String: String](), Set<String>())
    var (map, duration, discontinuity): (String?, Double?, Int?) = (nil, nil, nil)
    var (isDiscontinuous, isNewMap) = (false, false)
    for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false).dropFirst() {
      try demand(!line.isEmpty && !line.contains(where: \.isWhitespace), "4.1 no line is empty or has spaces")
      guard line.hasPrefix("#") else {
        let seconds = try #require(duration, "4.3.2.1 each segment has its duration")
        let initialization = try #require(map, "3.3 fragments of MP4 need an EXT-X-MAP")
        let number = discontinuity ?? Int(values["#EXT-X-DISCONTINUITY-SEQUENCE"] ?? "0") ?? -1
        if let last = segments.last {
          try demand(last.map == initialization || isDiscontinuous, "3.3 another map, and no discontinuity")
          try demand(!isDiscontinuous || isNewMap, "a discontinuity begins with a map")
        }
        segments.append(
          Segment(uri: String(line), map: initialization, duration: seconds, discontinuity: number))
        (duration, discontinuity, isDiscontinuous, isNewMap) = (nil, number, false, false)
        continue
      }
      let parts = line.split(separator: ":", maxSplits: 1)
      let (tag, value) = (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
      switch tag {
      case "#EXTINF":
        try demand(value.hasSuffix(",") && duration == nil, "4.3.2.1 EXTINF")
        duration = Double(value.dropLast())
      case "#EXT-X-MAP":
        let uri = try #require(value.wholeMatch(of: /URI="([^"]+)"/), "4.3.2.5 a map has a URI").1
        (map, isNewMap) = (String(uri), true)
      case "#EXT-X-DISCONTINUITY":
        let number = discontinuity ?? Int(values["#EXT-X-DISCONTINUITY-SEQUENCE"] ?? "0") ?? -1
        (discontinuity, isDiscontinuous) = (number + 1, true)
      case "#EXT-X-PROGRAM-DATE-TIME":
        try demand(value.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "4.3.2.6 a time")
      case "#EXT-X-VERSION", "#EXT-X-TARGETDURATION", "#EXT-X-MEDIA-SEQUENCE",
        "#EXT-X-DISCONTINUITY-SEQUENCE",
        "#EXT-X-INDEPENDENT-SEGMENTS":
        try demand(tags.insert(tag).inserted, "4.3.3 \(tag) is there once")
        try demand(segments.isEmpty && discontinuity == nil, "4.3.3 \(tag) comes before all segments")
        values[tag] = value
      default: throw Broken(description: "an unknown tag: \(line)")
      }
    }
    try demand(duration == nil && !isDiscontinuous, "the last line is a segment's")
    try demand((Int(values["#EXT-X-VERSION"] ?? "") ?? 0) >= 6, "4.3.2.5 maps need version 6")
    target = try #require(Int(values["#EXT-X-TARGETDURATION"] ?? ""), "4.3.3.1 a target duration")
    sequence = try #require(Int(values["#EXT-X-MEDIA-SEQUENCE"] ?? ""), "4.3.3.2 a sequence number")
    for segment in segments {
      try demand(segment.duration > 0 && Int(segment.duration.rounded()) <= target, "4.3.3.1 \(segment)")
    }
  }

  var seconds: Double { segments.reduce(0) { $0 + $1.duration } }

  /// - Throws: `Broken` if a player that has had `earlier` may not get this one (6.2.1, 6.2.2).
  func check(after earlier: MediaPlaylist) throws {
    guard target == earlier.target else { throw Broken(description: "6.2.1 the target duration stays") }
    guard sequence >= earlier.sequence, sequence + segments.count >= earlier.sequence + earlier.segments.count
    else { throw Broken(description: "6.2.2 sequence numbers never decrease") }
    for (index, segment) in earlier.segments.enumerated().dropFirst(sequence - earlier.sequence) {
      guard segments[index + earlier.sequence - sequence] == segment else {
        throw Broken(description: "6.2.2 segments keep their numbers: \(segment)")
      }
    }
    guard sequence == earlier.sequence || seconds >= 3 * Double(target) else {
      throw Broken(description: "6.2.2 segments are removed, and fewer than three target durations are left")
    }
  }
}
