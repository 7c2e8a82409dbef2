// Schedules in a real browser: beside the view whose pictures they take.
import Foundation
import Testing

extension DashboardTests {
  private static let scheduled = """
    snapshots: {folder: {path: kept}}
    cameras:
      door:
        source: "pattern:counter,size=320x180,fps=20"
        views: {main: {}, small: {size: 160x}}
        schedules:
          second: {every: 1s, views: [small]}
          noon: {at: 12:00}
      yard: {source: "pattern:smpte,size=320x180"}
    """

  @Test("a view's panel lists the camera's schedules with their next moment and last result")
  func schedules() async throws {
    try await withDashboard(Self.scheduled) { browser, _ in
      try await browser.waitForTile("door/small")
      try await browser.click("[data-key=\"door/small\"] .tile-open")
      try await browser.wait(
        "a result",
        until: """
          [...document.querySelectorAll('#schedule-list li')].some(
            (item) => item.textContent.includes('second') && /(taken|missed|failed) \\d/.test(item.textContent))
          """)
      let text = try await browser.text("return document.getElementById('schedule-list').textContent")
      #expect(text.contains("noon") && text.contains("next"), "\(text)")
      if let path = ProcessInfo.processInfo.environment["GLPREVIEW_SHOTS"] {
        try await browser.run("document.getElementById('schedules').scrollIntoView()")
        try await browser.screenshot().write(to: URL(filePath: path + "/schedules.png"))
      }
      try await browser.press(.escape)
      try await browser.click("[data-key=\"yard/main\"] .tile-open")
      #expect(try await browser.truth("return document.getElementById('schedules').hidden"))
    }
  }
}
