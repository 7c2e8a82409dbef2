// The view that is open, as H.264 in a real browser.
import Testing

extension DashboardTests {
  @Test("the view that is open is played as H.264: it moves, has its colours, and ends with its being closed")
  func video() async throws {
    try await withDashboard(Self.cameras) { browser, _ in
      try await browser.waitForTile("bars/main")
      try await browser.click("[data-key=\"bars/main\"] .tile-open")
      try await browser.wait(
        "H.264", until: "/H\\.264/.test(document.getElementById('stage-hint').textContent)")
      try await browser.waitForColor("grey", at: 0.05, 0.3, of: "#detail-canvas")
      let size = try await browser.text(
        "const c = document.getElementById('detail-canvas'); return `${c.width}x${c.height}`")
      #expect(size == "640x360")
      #expect(try await browser.streamedViews().last == ["bars/main"])

      try await browser.press(.escape)
      try await browser.wait("JPEGs", until: "document.documentElement.dataset.codec === 'mjpeg'")
      #expect(try await browser.truth("return document.querySelectorAll('video').length === 0"))

      try await browser.click("[data-key=\"door/face\"] .tile-open")
      try await browser.wait(
        "H.264", until: "/H\\.264/.test(document.getElementById('stage-hint').textContent)")
      try await browser.waitForMotion("#detail-canvas", count: 10)
    }
  }

  @Test("where a browser can't play it, the view that is open comes as JPEGs")
  func videoThatFails() async throws {
    try await withDashboard(Self.cameras) { browser, _ in
      try await browser.waitForTile("door/main")
      _ = try await browser.run("SourceBuffer.prototype.appendBuffer = () => { throw new Error('no') }")
      try await browser.click("[data-key=\"door/main\"] .tile-open")
      try await browser.wait("JPEGs", until: "/JPEG/.test(document.getElementById('stage-hint').textContent)")
      try await browser.waitForMotion("#detail-canvas")
      #expect(try await browser.truth("return document.documentElement.dataset.codec === 'mjpeg'"))
    }
  }
}
