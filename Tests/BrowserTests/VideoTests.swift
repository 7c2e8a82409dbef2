// The view that is open, as H.264 in a real browser.
import Testing

extension DashboardTests {
  @Test("an open view is played as H.264 in the right size and colours, and closing it restores JPEGs")
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

  @Test(
    "an open view switches to WebRTC once connected, and to HTTP when that connection closes",
    .enabled(if: hasWebRTC, "libssl3 or libsrtp2-1 is missing here: scripts/setup"))
  func videoByWebRTC() async throws {
    try await withDashboard(Self.cameras) { browser, _ in
      try await browser.waitForTile("door/face")
      _ = try await browser.run(
        """
        const Connection = RTCPeerConnection;
        window.connections = [];
        window.RTCPeerConnection = class extends Connection {
          constructor(...words) { super(...words); window.connections.push(this); }
        };
        """)
      try await browser.click("[data-key=\"door/face\"] .tile-open")
      try await browser.wait(
        "WebRTC", until: "/H\\.264 by WebRTC/.test(document.getElementById('stage-hint').textContent)")
      try await browser.waitForMotion("#detail-canvas", count: 10)
      #expect(try await browser.truth("return document.querySelectorAll('video').length === 1"))

      let connections = try await browser.number("return window.connections.length")
      _ = try await browser.run("window.connections.at(-1).close()")
      try await browser.wait("H.264 by HTTP", until: "document.documentElement.dataset.codec === 'h264'")
      // It is not tried again at once.
      #expect(try await browser.number("return window.connections.length") == connections)
      try await browser.waitForMotion("#detail-canvas", count: 10)

      try await browser.press(.escape)
      try await browser.wait("JPEGs", until: "document.documentElement.dataset.codec === 'mjpeg'")
      #expect(try await browser.truth("return document.querySelectorAll('video').length === 0"))
    }
  }

  @Test("a view with a keyframe every 60 s keeps playing beyond 14 s")
  func rareKeys() async throws {
    let cameras =
      """
      cameras: {door: {source: 'pattern:counter,size=320x180,fps=20', views: {main: {video: {keyframe: 60}}, other: {}}}}
      """
    try await withDashboard(cameras) { browser, _ in
      try await browser.waitForTile("door/main")
      _ = try await browser.run("window.RTCPeerConnection = null")
      try await browser.click("[data-key=\"door/main\"] .tile-open")
      try await browser.wait("H.264", until: "document.documentElement.dataset.codec === 'h264'")
      try await browser.wait("14 seconds", until: "document.querySelector('video')?.currentTime > 14")
      try await browser.waitForMotion("#detail-canvas", count: 10)
    }
  }

  @Test("an open view falls back to JPEGs if the browser can't play H.264")
  func videoThatFails() async throws {
    try await withDashboard(Self.cameras) { browser, _ in
      try await browser.waitForTile("door/main")
      _ = try await browser.run(
        "SourceBuffer.prototype.appendBuffer = () => { throw new Error('no') }; window.RTCPeerConnection = null"
      )
      try await browser.click("[data-key=\"door/main\"] .tile-open")
      try await browser.wait("JPEGs", until: "/JPEG/.test(document.getElementById('stage-hint').textContent)")
      try await browser.waitForMotion("#detail-canvas")
      #expect(try await browser.truth("return document.documentElement.dataset.codec === 'mjpeg'"))
    }
  }
}
