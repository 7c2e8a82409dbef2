// Points in time on the timeline of a source.
import PreviewCore
import Testing

@Suite("CaptureInstant")
struct CaptureInstantTests {
  @Test("subtracting two instants gives a duration, and adding a duration to an instant gives another")
  func distance() {
    let start = CaptureInstant.start
    let later = start + .seconds(2)
    let earlier = start - .milliseconds(500)

    #expect(later.sinceStart == .seconds(2))
    #expect(earlier.sinceStart == .milliseconds(-500))
    #expect(earlier < start && start < later)
    #expect(later - earlier == .milliseconds(2500))
    #expect(later.duration(to: earlier) == .milliseconds(-2500))
    #expect(earlier.advanced(by: .milliseconds(2500)) == later)
  }
}
