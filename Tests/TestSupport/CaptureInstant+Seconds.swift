// Points in time that tests name: so much after the start.
package import PreviewCore

extension CaptureInstant {
  package static func second(_ number: Int) -> CaptureInstant { start + .seconds(number) }

  package static func millisecond(_ number: Int) -> CaptureInstant { start + .milliseconds(number) }
}
