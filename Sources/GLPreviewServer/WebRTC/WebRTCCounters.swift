// The counters of WebRTC sessions, for metrics.
internal import Synchronization

final class WebRTCCounters: Sendable {
  /// The current sessions.
  let sessions = Atomic(0)
  /// Packets of pictures, and their bytes as sent.
  let packets = Atomic(0)
  let bytes = Atomic(0)
  /// Packets that clients report as missing; those that were sent again may be among them.
  let lost = Atomic(0)
  /// Packets that were sent again because clients had lost them.
  let repeated = Atomic(0)
  /// Requests of clients for keyframes (PLI and FIR).
  let keyRequests = Atomic(0)

  func count(packets: Int, bytes: Int, repeated: Int) {
    self.packets.wrappingAdd(packets, ordering: .relaxed)
    self.bytes.wrappingAdd(bytes, ordering: .relaxed)
    if repeated > 0 { self.repeated.wrappingAdd(repeated, ordering: .relaxed) }
  }

  func countLost(_ packets: Int) { lost.wrappingAdd(packets, ordering: .relaxed) }

  func countSession(_ difference: Int) { sessions.wrappingAdd(difference, ordering: .relaxed) }
  func countKeyRequest() { keyRequests.wrappingAdd(1, ordering: .relaxed) }

  var families: [MetricFamily] {
    func family(
      _ name: String, _ kind: MetricFamily.Kind, _ number: borrowing Atomic<Int>, _ help: String
    ) -> MetricFamily { MetricFamily(name, kind, value: Double(number.load(ordering: .relaxed)), help: help) }
    return [
      family(
        "glpreview_webrtc_sessions", .gauge, sessions,
        "WebRTC sessions."),
      family(
        "glpreview_webrtc_packets_total", .counter, packets,
        "Packets of pictures sent to WebRTC clients."),
      family(
        "glpreview_webrtc_bytes_total", .counter, bytes,
        "Bytes of these packets, as sent."),
      family(
        "glpreview_webrtc_lost_total", .counter, lost,
        "Packets that WebRTC clients reported as lost, before retransmissions."),
      family(
        "glpreview_webrtc_repeated_total", .counter, repeated,
        "Packets sent again because a WebRTC client had lost them."),
      family(
        "glpreview_webrtc_key_requests_total", .counter, keyRequests,
        "Keyframes that WebRTC clients requested."),
    ]
  }
}
