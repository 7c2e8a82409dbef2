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

  private static let zoned = """
    cameras:
      hall:
        source: pattern:smpte,size=720x720,fps=10
        lens: fisheye fov 190
        views: {door: {hfov: 60, size: 640x360}}
        motion: {zones: {mat: "0.3,0.4,0.4,0.5:view=door"}}
    """

  @Test("a zone in a view is outlined on that view's picture, unless the view was turned")
  func viewZoneOutlined() async throws {
    try await withDashboard(Self.zoned) { browser, service in
      try await browser.waitForTile("hall/door")
      try await browser.click("[data-key=\"hall/door\"] .tile-open")
      try await browser.click("#motion-tune summary")
      let count = "document.querySelectorAll('#motion-zones polygon').length"
      try await browser.wait("the zone", until: "\(count) === 1")
      #expect(
        try await browser.text(
          "return document.querySelector('#motion-zones polygon').getAttribute('points')"
        )
        .hasPrefix("0.3,0.4 "))

      try await service.ask("PATCH", "api/cameras/hall/views/door", json: #"{"yaw": 20}"#)
      try await browser.wait("no outline", until: "\(count) === 0")
      #expect(try await browser.number("return document.querySelectorAll('.zone').length") == 1)
      try await service.ask("PATCH", "api/cameras/hall/views/door", json: #"{"yaw": 0}"#)
      try await browser.wait("the zone again", until: "\(count) === 1")
    }
  }

  @Test("motion events appear in the list and the timeline; sensitivity and zones can be edited live")
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

      // A range that is being dragged stays where the hand is, whatever is answered meanwhile.
      let range = "document.querySelector('#motion-form [type=range]')"
      _ = try await browser.truth(
        "\(range).value = 80; return \(range).dispatchEvent(new Event('input', { bubbles: true }))")
      try await service.ask("PATCH", "api/cameras/door/motion", json: #"{"min-size": 2}"#)
      try await browser.wait(
        "another's change", until: "/min-size: 2/.test(document.getElementById('motion-yaml').textContent)")
      #expect(
        try await browser.truth(
          "return \(range).value + document.getElementById('motion-sensitivity').textContent === '8080'"))
      _ = try await browser.truth("return \(range).dispatchEvent(new Event('change', { bubbles: true }))")
      try await browser.wait(
        "what was let go of",
        until: "/sensitivity: 80/.test(document.getElementById('motion-yaml').textContent)")

      // A polygon that is begun ends with tuning.
      let polygon = "document.getElementById('motion-polygon')"
      try await browser.click("#motion-polygon")
      try await browser.wait("a polygon", until: "\(polygon).textContent === 'Finish'")
      try await browser.click("#motion-tune summary")
      try await browser.wait("no polygon", until: "\(polygon).textContent === 'Draw a polygon'")
      try await browser.click("#motion-tune summary")

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
