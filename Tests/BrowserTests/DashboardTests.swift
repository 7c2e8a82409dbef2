// The dashboard of a real service in a real browser.
import Foundation
import Testing

/// All tests with a browser stand in extensions of this suite: one browser at a time is enough for a machine.
///
/// They run where Chromium is; `make test-browser` installs it, and there its absence is a failure.
@Suite(
  "The dashboard in a browser", .serialized,
  .enabled(
    if: WebDriver.programs != nil || ProcessInfo.processInfo.environment["GLPREVIEW_BROWSER"] == "1",
    "there is no chromium with chromium-driver here: make test-browser installs them"))
struct DashboardTests {
  static let cameras = """
    cameras:
      door:
        source: pattern:counter,size=1280x720,fps=30
        views:
          main: {size: 640x360}
          face: {crop: 720x720+280+0, size: 320x320}
      bars:
        source: pattern:smpte,size=640x360,fps=10
    """

  @Test("all views show pictures over one stream and one event connection")
  func motion() async throws {
    try await withDashboard(Self.cameras) { browser, service in
      for key in ["door/main", "door/face", "bars/main"] { try await browser.waitForTile(key) }
      try await browser.waitForMotion("[data-key=\"door/main\"] canvas")
      try await browser.waitForMotion("[data-key=\"door/face\"] canvas")
      try await browser.waitForColor("grey", at: 0.05, 0.3, of: "[data-key=\"bars/main\"] canvas")
      try await browser.wait(
        "the state", until: "/^Live/.test(document.querySelector('.camera-meta').textContent)")

      let watchers = try await service.watchers(of: "door", "face")
      #expect(watchers == 1)
      let shape = try await browser.text(
        "const c = document.querySelector('[data-key=\"door/face\"] canvas'); return `${c.width / c.height}`")
      #expect(shape == "1")
    }
  }

  @Test("a camera shows its measured frame rate, and a badge marks a software renderer")
  func facts() async throws {
    try await withDashboard(Self.cameras) { browser, service in
      try await browser.waitForTile("door/main")
      try await browser.wait(
        "a rate", until: "/\\d fps/.test(document.querySelector('.camera-meta').textContent)")

      let device = try await service.ask("GET", "api/cameras")["device"] as? [String: Any]
      let isSoftware = device?["software"] as? Bool ?? false
      try await browser.wait(
        "the renderer's badge",
        until: "document.getElementById('software').checkVisibility() === \(isSoftware)")
    }
  }

  @Test("another client's snapshot appears as a toast with a round thumbnail of at most 160 px")
  func othersSnapshot() async throws {
    try await withDashboard(Self.cameras) { browser, service in
      try await browser.waitForTile("door/main")
      try await browser.waitForEvents()
      try await browser.keepToasts()

      try await service.ask("POST", "api/cameras/door/snapshots", json: #"{"timeout": 60000}"#)
      try await browser.wait(
        "a round picture", until: "document.querySelector('.toast[data-camera=door] img')")
      try await browser.wait(
        "them to be there",
        until: "[...document.querySelectorAll('.toast img')].every((image) => image.naturalWidth > 0)")

      let largest = try await browser.number(
        "return Math.max(...[...document.querySelectorAll('.toast img')].flatMap((image) => [image.naturalWidth, image.naturalHeight]))"
      )
      #expect(largest <= 160)
      let shape = try await browser.text(
        "const i = document.querySelector('.toast img'); return [getComputedStyle(i).borderRadius, i.offsetWidth - i.offsetHeight].join(' ')"
      )
      #expect(shape == "50% 0")
      let isHeard = try await browser.truth(
        "return Boolean(document.querySelector('.toast').closest('[aria-live=polite]'))")
      #expect(isHeard)

      try await browser.click(".toast-close")
      try await browser.wait("the toast to go", until: "!document.querySelector('.toast')")
    }
  }

  @Test("the S key takes one snapshot of the open view, and its toast links the full-size picture")
  func ownSnapshot() async throws {
    try await withDashboard(Self.cameras) { browser, _ in
      try await browser.waitForTile("bars/main")
      try await browser.keepToasts()
      try await browser.click("[data-key=\"bars/main\"] .tile-open")

      try await browser.press("s")
      try await browser.wait(
        "a toast", until: "document.querySelector('.toast[data-camera=bars] .toast-save')?.checkVisibility()")

      let name = try await browser.text("return document.querySelector('.toast-save').download")
      #expect(name.hasPrefix("bars-main-") && name.hasSuffix(".jpg"))

      try await browser.run(
        "const image = new Image(); image.src = document.querySelector('.toast-save').href; window.saved = image;"
      )
      try await browser.wait(
        "the picture", until: "window.saved.naturalWidth === 640 && window.saved.naturalHeight === 360")
      let count = try await browser.number("return document.querySelectorAll('.toast').length")
      #expect(count == 1, "the answer and the event are of one snapshot")
    }
  }

  @Test("the mirror and rotate controls change the picture and the view's settings")
  func controls() async throws {
    try await withDashboard(Self.cameras) { browser, service in
      let canvas = "#detail-canvas"
      try await browser.waitForTile("bars/main")
      try await browser.click("[data-key=\"bars/main\"] .tile-open")
      try await browser.waitForColor("grey", at: 0.05, 0.3, of: canvas)

      try await browser.click("[name=mirror][value=horizontal] + span")
      try await browser.waitForColor("blue", at: 0.05, 0.3, of: canvas)
      #expect(try await service.view("main", of: "bars")["mirror"] as? String == "horizontal")

      try await browser.click("[name=rotate][value=\"180\"] + span")
      // Mirrored and upside down: the bars are at the bottom, in their own order.
      try await browser.waitForColor("grey", at: 0.05, 0.7, of: canvas)
      #expect((try await service.view("main", of: "bars")["rotate"] as? NSNumber)?.intValue == 180)
    }
  }

  @Test("dragging on the picture sets the crop only in selection mode, and a button resets the crop")
  func crop() async throws {
    try await withDashboard(Self.cameras) { browser, service in
      let canvas = "#detail-canvas"
      try await browser.waitForTile("bars/main")
      try await browser.click("[data-key=\"bars/main\"] .tile-open")
      try await browser.waitForColor("grey", at: 0.05, 0.3, of: canvas)

      // Nothing happens to a picture that is only touched.
      let middle = try await browser.middle(of: canvas)
      try await browser.drag(from: middle, to: (middle.x + 120, middle.y + 90))
      #expect(try await service.view("main", of: "bars")["crop"] as? String == nil)

      try await browser.click("#crop-select")
      try await browser.drag(from: (middle.x + 4, middle.y - 4), to: (middle.x + 164, middle.y - 94))
      // Right of the middle: what is left of the green bar, then magenta.
      try await browser.wait(
        "the crop", until: "/^\\d+x\\d+\\+\\d+\\+\\d+$/.test(document.getElementById('crop').value)")
      try await browser.waitForColor("green", at: 0.03, 0.3, of: canvas)
      try await browser.waitForColor("magenta", at: 0.6, 0.3, of: canvas)
      #expect(try await service.view("main", of: "bars")["crop"] as? String != nil)

      try await browser.click("#crop-whole")
      try await browser.waitForColor("grey", at: 0.05, 0.3, of: canvas)
    }
  }

  @Test("a rejected crop stays in its field, marked invalid, and the service's error is shown")
  func refusal() async throws {
    try await withDashboard(Self.cameras, expecting: ["400 (Bad Request)"]) { browser, _ in
      try await browser.waitForTile("bars/main")
      try await browser.click("[data-key=\"bars/main\"] .tile-open")

      try await browser.run(
        "const crop = document.getElementById('crop'); crop.value = '9000x9000+0+0'; crop.dispatchEvent(new Event('change', {bubbles: true}))"
      )

      try await browser.wait("a problem", until: "document.getElementById('problem').checkVisibility()")
      let state = try await browser.text(
        "const c = document.getElementById('crop'); return [c.ariaInvalid, c.value].join(' ')")
      #expect(state == "true 9000x9000+0+0")
      let text = try await browser.text("return document.getElementById('problem').textContent")
      #expect(text.contains("640x360") || text.contains("crop"), "\(text)")
    }
  }

  @Test("disabling a view stops its stream and shows the view as off")
  func switchedOff() async throws {
    // The page may ask for the video before it hears that the view is off.
    try await withDashboard(Self.cameras, expecting: ["409 (Conflict)"]) { browser, service in
      try await browser.waitForTile("bars/main")
      try await browser.click("[data-key=\"bars/main\"] .tile-open")

      try await browser.click("[name=enabled]")
      try await browser.wait(
        "it to be off", until: "document.getElementById('detail-state').textContent === 'Off'")
      try await awaited("nobody to watch") { try await service.watchers(of: "bars") == 0 ? true : nil }

      try await browser.press(.escape)
      try await browser.wait(
        "the tile", until: "document.querySelector('[data-key=\"bars/main\"]').dataset.state === 'off'")
    }
  }
}

extension WebDriver {
  /// Waits until the page hears of events.
  func waitForEvents() async throws {
    try await wait("the connection for events", until: "document.documentElement.dataset.events === 'open'")
  }
}
