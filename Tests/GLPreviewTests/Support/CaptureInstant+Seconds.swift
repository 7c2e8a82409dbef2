// Points in time that tests name: so much after the start.
import PreviewCore

extension CaptureInstant {
  static func second(_ number: Int) -> CaptureInstant { start + .seconds(number) }

  static func millisecond(_ number: Int) -> CaptureInstant { start + .milliseconds(number) }
}
