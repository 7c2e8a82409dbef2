// Motion in a real browser: events with their pictures, and what is changed of it live.
import Foundation
import Testing

extension DashboardTests {
  private static let watched = """
    cameras:
      door:
        source: pattern:counter,size=320x180,fps=20
        motion: {cool-down: 600s}
    """

  @Test("events of motion are listed with their pictures; zones are drawn on the picture and can be copied")
  func motionTuned() async throws {
    try await withDashboard(Self.watched) { browser, service in
      try await browser.waitForTile("door/main")
      try await service.ask("POST", "api/cameras/door/motion")
      try await browser.click("[data-key=\"door/main\"] .tile-open")
      try await browser.wait(
        "a thumbnail", until: "document.querySelector('.motion-event img')?.naturalWidth > 16")
      try await browser.wait(
        "a mark in the timeline", until: "document.querySelector('#timeline .moved') !== null")

      try await browser.click("#motion-tune summary")
      try await browser.wait(
        "the settings", until: "/sensitivity: 50/.test(document.getElementById('motion-yaml').textContent)")
      try await browser.click("#motion-rectangle")
      let (x, y) = try await browser.middle(of: "#detail-canvas")
      try await browser.drag(from: (x - 100, y - 60), to: (x + 100, y + 60))
      try await browser.wait(
        "the zone", until: "/zone1: \"0/.test(document.getElementById('motion-yaml').textContent)")
      #expect(
        try await browser.truth("return document.querySelectorAll('#motion-zones polygon').length === 1"))
      let zones = try await service.ask("GET", "api/cameras/door/motion")["zones_watched"] as? [String]
      #expect(zones?.count == 1)
      if let file = ProcessInfo.processInfo.environment["GLPREVIEW_SCREENSHOT"] {
        try await browser.screenshot().write(to: URL(filePath: file))
      }
      try await browser.click(".zone button")
      try await browser.wait(
        "no zone", until: "!/zone1/.test(document.getElementById('motion-yaml').textContent)")
    }
  }
}
