// Reports about pictures: a JSON object for each if requested, and progress on a terminal.
import FoundationEssentials
import GLPreview

/// One picture in `--json`.
struct PictureReport: Codable {
  /// The file and its number from 1; only with several SOURCEs.
  var source: String?
  var index: Int?
  let view: String
  let frame: Int
  /// Seconds since the source's start; for live sources, CLOCK_MONOTONIC.
  let timestamp: Double
  /// The capture time in seconds since 1970; only for live sources.
  let time: Double?
  /// The time from capture to this report; only for live sources.
  let ageMilliseconds: Double?
  /// How frames are received; only for live sources: `mmap`, `http`, `pipe`.
  let transport: String?
  let width: Int
  let height: Int
  /// Absent if the picture is discarded.
  let file: String?
  let format: String?
  let bytes: Int?
  let quality: Int?
  /// The decoding scale in eighths: 8 is full size.
  let decodedEighths: Int
  let renderer: String
  /// The GPU time of the passes of all the frame's views; absent in software or without a GPU clock.
  let frameGPUMilliseconds: Double?
}

extension Encodable {
  /// Returns one line of JSON with sorted keys.
  func jsonLine() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}

/// The progress display on a terminal. Nothing is shown for a single frame.
struct Progress {
  private let isShown: Bool
  private let start = ContinuousClock.now
  private var lastShown = ContinuousClock.now
  private var frames = 0
  private let noun: String

  /// Creates a display that counts `noun`s.
  init(isQuiet: Bool, expectsManyFrames: Bool, _ noun: String = "frame") {
    self.noun = noun
    isShown = !isQuiet && expectsManyFrames && StandardError.isTerminal
  }

  /// Counts a frame. The display is updated at most ten times a second.
  mutating func frameDone(of total: Int?) {
    frames += 1
    let now = ContinuousClock.now
    guard isShown, now - lastShown > .milliseconds(100) else { return }
    lastShown = now
    show(total)
  }

  /// Leaves the last count on the screen.
  func end(of total: Int?) {
    guard isShown, frames > 1 else { return }
    show(total)
    StandardError.endProgress()
  }

  private func show(_ total: Int?) {
    let elapsed = (ContinuousClock.now - start) / .seconds(1)
    let rate = elapsed > 0 ? Int(Double(frames) / elapsed) : 0
    let whole = total.map { "/\($0)" } ?? ""
    StandardError.show(progress: "\(noun) \(frames)\(whole), \(rate) a second")
  }
}

extension SourceStatus.Counters {
  /// Returns a warning about dropped frames, if the user wanted every frame, and about damaged ones; nil if
  /// there are none.
  func warning(wantsAll: Bool) -> String? {
    var words: [String] = []
    if damaged > 0 { words.append("\(damaged) damaged") }
    if dropped + missed > 0, wantsAll { words.append("\(dropped + missed) dropped") }
    guard !words.isEmpty else { return nil }
    return "of \(received + missed) frames, \(words.joined(separator: " and "))"
  }
}
