// Counters of all streams, for operators.
internal import GLPreview
internal import Synchronization

/// Counts for all streams of a service.
final class StreamCounters: Sendable {
  /// Parts passed to a connection.
  let sent = Atomic(0)
  /// Parts replaced by a newer one before a connection accepted them.
  let skipped = Atomic(0)
  /// Bytes of the parts that were sent.
  let bytes = Atomic(0)
  /// Connections closed because the client did not read.
  let cutOff = Atomic(0)
  /// Called with the duration of a stage.
  private let measured: @Sendable (ServiceStage, Duration) -> Void

  init(measuring measured: @escaping @Sendable (ServiceStage, Duration) -> Void = { _, _ in }) {
    self.measured = measured
  }

  func countCutOff() { cutOff.wrappingAdd(1, ordering: .relaxed) }

  /// Records the time from the frame's capture until it is passed to the connections.
  func delivered(after age: Duration) { measured(.deliver, age) }

  func count(sent sentNow: Int, skipped skippedNow: Int, bytes bytesNow: Int) {
    if sentNow > 0 { sent.wrappingAdd(sentNow, ordering: .relaxed) }
    if skippedNow > 0 { skipped.wrappingAdd(skippedNow, ordering: .relaxed) }
    if bytesNow > 0 { bytes.wrappingAdd(bytesNow, ordering: .relaxed) }
  }
}
