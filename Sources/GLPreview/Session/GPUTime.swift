// The GPU's time for pictures: in all of each view, and lately of all of them together.
internal import Synchronization

/// The GPU's time for the pictures of one view, since the view exists. It stays zero on a GPU without timer
/// queries, and in software.
package final class GPUTime: Sendable {
  private let nanoseconds = Atomic(0)

  package init() {}

  /// The sum of all drawings.
  package var total: Duration { .nanoseconds(nanoseconds.load(ordering: .relaxed)) }

  func add(_ time: Duration) {
    nanoseconds.wrappingAdd(Int(time / .nanoseconds(1)), ordering: .relaxed)
  }
}

/// The share of time in which the GPU draws a session's pictures.
struct GPULoad {
  /// The GPU's time in each of the last seconds, by the number of the second.
  private var times: [Int64: Duration] = [:]

  /// The number of seconds that are kept.
  var secondCount: Int { times.count }

  /// The number of whole seconds that count, besides the current one.
  private static let wholeSeconds: Int64 = 2

  mutating func add(_ time: Duration, at now: CaptureInstant) {
    let second = now.sinceStart.components.seconds
    times[second, default: .zero] += time
    if times.count > Self.wholeSeconds + 1 { times = times.filter { $0.key >= second - Self.wholeSeconds } }
  }

  /// The share in the last two to three seconds, 0 to 1, or a little more; nil if nothing was measured then.
  func share(at now: CaptureInstant) -> Double? {
    let first = CaptureInstant(sinceStart: .seconds(now.sinceStart.components.seconds - Self.wholeSeconds))
    let counted = times.filter { $0.key >= first.sinceStart.components.seconds }
    guard !counted.isEmpty, now > first else { return nil }
    return counted.values.reduce(.zero, +) / (now - first)
  }
}
