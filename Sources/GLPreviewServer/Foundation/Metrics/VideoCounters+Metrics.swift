// The counters of video encoders as metrics.
internal import Synchronization

extension VideoCounters {
  package var families: [MetricFamily] {
    func counter(_ name: String, _ number: borrowing Atomic<Int>) -> MetricFamily {
      MetricFamily(name, .counter, value: Double(number.load(ordering: .relaxed)))
    }
    let running = encoders.sorted { $0.key.rawValue < $1.key.rawValue }.map { encoder, count in
      MetricFamily.Sample(labels: [("encoder", encoder.rawValue)], value: Double(count))
    }
    return [
      counter("glpreview_video_pictures_total", pictures),
      counter("glpreview_video_passed_total", passed),
      counter("glpreview_video_key_pictures_total", keyPictures),
      counter("glpreview_video_bytes_total", bytes),
      counter("glpreview_video_skipped_total", dropped),
      counter("glpreview_video_failures_total", failures),
      MetricFamily("glpreview_video_encoders", .gauge, running),
    ]
  }
}
