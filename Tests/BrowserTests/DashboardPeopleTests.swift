// The dashboard for all people: by keyboard, on a phone, by day and by night.
import Foundation
import Testing

extension DashboardTests {
  @Test("the keyboard opens tiles, steps through views and shows the help; Escape restores the focus")
  func keyboard() async throws {
    try await withDashboard(Self.cameras) { browser, _ in
      try await browser.waitForTile("door/main")
      let focused = "document.activeElement.closest('.tile')?.dataset.key"

      try await browser.press(.right)
      try await browser.wait("the first tile", until: "\(focused) === 'door/main'")
      let ring = try await browser.text("return getComputedStyle(document.activeElement).outlineStyle")
      #expect(ring == "solid")

      try await browser.press(.enter)
      try await browser.wait("the view", until: "document.getElementById('detail').open")

      try await browser.press(.right)
      try await browser.wait(
        "the next", until: "document.getElementById('detail-title').textContent === 'doorface'")
      try await browser.waitForMotion("#detail-canvas")

      // Focus stays in what is open.
      for _ in 0..<40 { try await browser.press(.tab) }
      #expect(try await browser.truth("return !document.activeElement.closest('main, .bar')"))

      try await browser.press(.escape)
      try await browser.wait("the overview", until: "!document.getElementById('detail').open")
      try await browser.wait("the focus", until: "\(focused) === 'door/face'")

      try await browser.press("3")
      try await browser.wait(
        "the third", until: "document.getElementById('detail-title').textContent === 'barsmain'")

      try await browser.press(.escape)
      try await browser.press("?")
      try await browser.wait("the keys", until: "document.getElementById('help').open")
      try await browser.press(.escape)
      try await browser.wait("them to go", until: "!document.getElementById('help').open")
    }
  }

  @Test("every visible control has an accessible name")
  func names() async throws {
    try await withDashboard(Self.cameras) { browser, _ in
      try await browser.waitForTile("door/main")
      try await browser.click("[data-key=\"door/main\"] .tile-open")

      let nameless = try await browser.text(
        """
        return [...document.querySelectorAll('button, input, select, a, canvas')].filter((element) => {
          const name = element.ariaLabel || element.textContent.trim() || element.labels?.length || element.title;
          return element.checkVisibility() && !name;
        }).map((element) => element.outerHTML).join('\\n');
        """)

      #expect(nameless == "")
    }
  }

  @Test(
    "the overview and an open view fit a 390 px wide phone without horizontal scrolling",
    arguments: [WebDriver.Screen.phone])
  func phone(screen: WebDriver.Screen) async throws {
    try await withDashboard(Self.cameras, on: screen) { browser, _ in
      try await browser.waitForTile("door/main")
      let width =
        "return Math.max(document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth)"
      #expect(try await browser.number(width) == 390)

      try await browser.click("[data-key=\"door/main\"] .tile-open")
      try await browser.waitForMotion("#detail-canvas")

      #expect(try await browser.number(width) == 390)
      #expect(
        try await browser.truth(
          "const i = document.querySelector('.inspector'); return i.scrollWidth <= i.clientWidth"))
      let picture = try await browser.number(
        "return document.getElementById('detail-canvas').getBoundingClientRect().width")
      #expect(picture == 390)
    }
  }

  @Test("the theme follows the system until a key switches it, and the choice survives a reload")
  func theme() async throws {
    var screen = WebDriver.Screen.desktop
    screen.isDark = true

    try await withDashboard(Self.cameras, on: screen) { browser, _ in
      let light =
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((value) => value > 128)"
      try await browser.waitForTile("door/main")
      #expect(try await !browser.truth("return \(light)"))

      try await browser.press("t")
      #expect(try await browser.truth("return \(light)"))

      try await browser.run("location.reload()")
      try await browser.waitForTile("door/main")
      #expect(try await browser.truth("return \(light)"))
    }
  }

  @Test("no animation runs if the browser prefers reduced motion")
  func reducedMotion() async throws {
    try await withDashboard(Self.cameras) { browser, service in
      let features = [["name": "prefers-reduced-motion", "value": "reduce"]]
      try await browser.tell("Emulation.setEmulatedMedia", ["features": features])
      try await browser.waitForEvents()
      try await browser.keepToasts()
      try await service.ask("POST", "api/cameras/bars/snapshots", json: #"{"timeout": 60000}"#)
      try await browser.wait("a toast", until: "document.querySelector('.toast img')")
      #expect(try await browser.number("return document.getAnimations().length") == 0)
    }
  }

  /// `make screenshot` runs it for docs/dashboard.png.
  @Test(
    "the screenshot for the documentation is written and is smaller than 300 kB",
    .enabled(
      if: ProcessInfo.processInfo.environment["GLPREVIEW_SCREENSHOT"] != nil, "make screenshot takes it"))
  func screenshot() async throws {
    let file = try #require(ProcessInfo.processInfo.environment["GLPREVIEW_SCREENSHOT"])
    let configuration = """
      cameras:
        door:
          source: pattern:counter,size=1280x720,fps=30
          views:
            main: {size: 640x360}
            face: {crop: 720x720+280+0, size: 320x320, locked: true}
            hall: {rotate: 90, size: 360x640}
        printer:
          source: pattern:smpte,size=1280x720,fps=10
        garden:
          source: exec:false
        lab:
          source: pattern:gradient,size=1280x720,fps=10
      scenes:
        overview: {layout: "grid:size=1280x720,gap=8", labels: names}
      """
    var screen = WebDriver.Screen(width: 1280, height: 820)
    screen.isDark = true

    try await withDashboard(configuration, on: screen) { browser, service in
      for key in ["door/main", "door/hall", "printer/main", "garden/main", "lab/main", "overview/main"] {
        try await browser.waitForTile(key)
      }
      try await browser.waitForEvents()
      try await browser.wait(
        "it to be at rest", until: "/Live for/.test(document.querySelector('.camera-meta').textContent)")

      try await service.ask("POST", "api/cameras/door/snapshots")
      try await browser.wait("the toast", until: "document.querySelectorAll('.toast img').length > 0")
      try await browser.wait(
        "it to have come", until: "document.getAnimations().every(({playState}) => playState !== 'running')")

      let png = try await browser.screenshot()
      #expect(png.count < 300_000)
      try png.write(to: URL(filePath: file))
    }
  }
}
