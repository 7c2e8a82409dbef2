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
