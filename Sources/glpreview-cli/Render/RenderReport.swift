// What is said of the pictures: a JSON object each where asked for, progress on a terminal.
import FoundationEssentials
import GLPreview

/// One picture, as `--json` tells it.
struct PictureReport: Codable {
  let view: String
  let frame: Int
  /// Seconds from the source's start; of a live source, CLOCK_MONOTONIC's.
  let timestamp: Double
  /// When it was captured, in seconds since 1970; of live sources alone.
  let time: Double?
  /// From capture to here; of live sources alone.
  let ageMilliseconds: Double?
  /// How frames come to us, of live sources alone: `mmap`, `http`, `pipe`.
  let transport: String?
  let width: Int
  let height: Int
  /// Absent where pictures go nowhere.
  let file: String?
  let format: String?
  let bytes: Int?
  let quality: Int?
  /// Of the source's columns and rows that were decoded: 8 is all.
  let decodedEighths: Int
  let renderer: String
  /// What the passes of all the frame's views took by the GPU's own clock; absent without one, and of software.
  let frameGPUMilliseconds: Double?
}

extension Encodable {
  /// One line of JSON, keys in order.
  func jsonLine() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}

/// Progress on a terminal, and only there; nothing at all for a single frame.
struct Progress {
  private let isShown: Bool
  private let start = ContinuousClock.now
  private var lastShown = ContinuousClock.now
  private var frames = 0

  init(isQuiet: Bool, expectsManyFrames: Bool) {
    isShown = !isQuiet && expectsManyFrames && StandardError.isTerminal
  }

  /// Counts a frame; shown ten times a second at most.
  mutating func frameDone(of total: Int?) {
    frames += 1
    let now = ContinuousClock.now
    guard isShown, now - lastShown > .milliseconds(100) else { return }
    lastShown = now
    show(total)
  }

  /// Leaves the last count standing.
  func end(of total: Int?) {
    guard isShown, frames > 1 else { return }
    show(total)
    StandardError.endProgress()
  }

  private func show(_ total: Int?) {
    let elapsed = (ContinuousClock.now - start) / .seconds(1)
    let rate = elapsed > 0 ? Int(Double(frames) / elapsed) : 0
    let whole = total.map { " of \($0)" } ?? ""
    StandardError.show(progress: "frame \(frames)\(whole), \(rate) a second")
  }
}

extension SourceCounters {
  /// What a user should know who wanted every frame; nil where there is nothing to tell.
  func complaint(wantsAll: Bool) -> String? {
    var words: [String] = []
    if damaged > 0 { words.append("\(damaged) damaged") }
    if dropped + missed > 0, wantsAll { words.append("\(dropped + missed) dropped") }
    guard !words.isEmpty else { return nil }
    return "of \(received + missed) frames, \(words.joined(separator: " and "))"
  }
}
