// What streams have done, for operators.
internal import GLPreview
internal import Synchronization

/// Counts for all streams of a service.
final class StreamCounters: Sendable {
  /// Parts that were handed to a connection.
  let sent = Atomic(0)
  /// Parts that gave way to a newer one before a connection took them.
  let skipped = Atomic(0)
  /// Bytes of the parts that were sent.
  let bytes = Atomic(0)
  /// Connections that were cut off since they took nothing.
  let cutOff = Atomic(0)
  /// JPEGs that were made.
  let encodes = Atomic(0)
  /// Is told how long a stage took.
  private let measured: @Sendable (ServiceStage, Duration) -> Void

  init(measuring measured: @escaping @Sendable (ServiceStage, Duration) -> Void = { _, _ in }) {
    self.measured = measured
  }

  func encoded(in duration: Duration) {
    encodes.wrappingAdd(1, ordering: .relaxed)
    measured(.encode, duration)
  }

  func countCutOff() { cutOff.wrappingAdd(1, ordering: .relaxed) }

  /// From the frame's capture until it is handed to the connections.
  func delivered(after age: Duration) { measured(.deliver, age) }

  func count(sent sentNow: Int, skipped skippedNow: Int, bytes bytesNow: Int) {
    if sentNow > 0 { sent.wrappingAdd(sentNow, ordering: .relaxed) }
    if skippedNow > 0 { skipped.wrappingAdd(skippedNow, ordering: .relaxed) }
    if bytesNow > 0 { bytes.wrappingAdd(bytesNow, ordering: .relaxed) }
  }
}

/// A part of a picture's way whose time is measured.
enum ServiceStage: String, Sendable, CaseIterable {
  /// From upload to readback, with the wait for the GPU.
  case render
  /// Of a JPEG.
  case encode
  /// From capture until it is handed to the connections of a stream.
  case deliver
  /// A snapshot, from the request to the answer.
  case snapshot
}

/// How often something happens, over the last seconds.
struct RateMeter: Sendable {
  private var times: [Duration] = []
  private static let window = Duration.seconds(3)

  mutating func count(at time: Duration) {
    times.append(time)
    if times.count > 512 || times.first.map({ $0 < time - Self.window * 2 }) == true {
      times.removeAll { $0 < time - Self.window }
    }
  }

  /// Of what was counted in the last three seconds; 0 where that was less than twice.
  func perSecond(at now: Duration) -> Double {
    let recent = times.filter { $0 >= now - Self.window }
    guard let first = recent.first, let last = recent.last, last > first else { return 0 }
    return Double(recent.count - 1) / ((last - first) / .seconds(1))
  }
}
