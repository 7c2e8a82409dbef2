// Lens views in a real browser: turned by dragging, by keys and by their positions, and by their outlines on
// the fisheye's own picture.
import Foundation
import Testing

extension DashboardTests {
  /// A column of the source is 190 / 720 degrees wide, and each of its seven bars 27 degrees.
  private static let lenses = """
    cameras:
      ceiling:
        source: pattern:smpte,size=720x720,fps=10
        lens: fisheye fov 190
        views:
          whole: {size: 720x720}
          door: {hfov: 60, size: 640x360, positions: {desk: {yaw: -40, hfov: 30}}}
          fixed: {yaw: 60, hfov: 40, size: 320x180, locked: true}
          level: {rotate: 12, size: 320x320}
    """

  private static let canvas = "#detail-canvas"

  /// Opens a view of the camera, and waits for its picture.
  private static func open(_ view: String, in browser: WebDriver) async throws {
    try await browser.waitForTile("ceiling/\(view)")
    try await browser.click("[data-key=\"ceiling/\(view)\"] .tile-open")
    try await browser.waitForMotion(canvas, count: 0)
  }

  /// Waits until the service has a number of a view, to a degree.
  private static func wait(
    for key: String, _ number: Double, of view: String = "door", at service: Service
  ) async throws {
    func current() async throws -> Double {
      (try await service.view(view, of: "ceiling")[key] as? NSNumber)?.doubleValue ?? .nan
    }
    try await awaited("\(key) \(number) of \(view)") {
      let value = try await current()
      return abs(value - number) < 1 ? true : nil
    } orElse: {
      "\((try? await current()) ?? .nan)"
    }
  }

  @Test("dragging the picture turns a lens view, and what was grabbed follows the pointer")
  func lensDragged() async throws {
    try await withDashboard(Self.lenses) { browser, service in
      try await Self.open("door", in: browser)
      try await browser.waitForColor("green", at: 0.5, 0.5, of: Self.canvas)
      let middle = try await browser.middle(of: Self.canvas)
      let width = try await browser.number(
        "return document.querySelector('\(Self.canvas)').getBoundingClientRect().width")

      try await browser.drag(from: middle, to: (middle.x + Int(0.3 * width), middle.y))

      // The angle of 0.3 of the width, where half of the width has 30 degrees.
      let turned = atan(0.6 * tan(30 * Double.pi / 180)) * 180 / .pi
      try await Self.wait(for: "yaw", -turned, at: service)
      try await Self.wait(for: "pitch", 0, at: service)
      try await browser.waitForColor("cyan", at: 0.5, 0.5, of: Self.canvas)
      try await browser.waitForColor("green", at: 0.8, 0.5, of: Self.canvas)
      try await browser.wait(
        "the direction", until: "/Yaw −19/.test(document.getElementById('lens-pose').textContent)")
      try await browser.wait(
        "the field", until: "Math.round(document.querySelector('[name=yaw]').value) === -19")
      if let path = ProcessInfo.processInfo.environment["GLPREVIEW_SHOTS"] {
        try await browser.screenshot().write(to: URL(filePath: path + "/lens.png"))
      }
    }
  }

  @Test("a wheel zooms a lens view, and a double click turns a point to the middle")
  func lensClicked() async throws {
    try await withDashboard(Self.lenses) { browser, service in
      try await Self.open("door", in: browser)
      let picture = """
        const canvas = document.querySelector('\(Self.canvas)');
        const box = canvas.getBoundingClientRect();
        const [clientX, clientY] = [box.x + 0.75 * box.width, box.y + box.height / 2];
        const at = {bubbles: true, cancelable: true, clientX, clientY};
        """

      try await browser.run("\(picture) canvas.dispatchEvent(new MouseEvent('dblclick', at))")
      let turned = atan(0.5 * tan(30 * Double.pi / 180)) * 180 / .pi
      try await Self.wait(for: "yaw", turned, at: service)

      try await browser.run("\(picture) canvas.dispatchEvent(new WheelEvent('wheel', {...at, deltaY: -500}))")
      try await Self.wait(for: "hfov", 60 * exp(-0.5), at: service)
    }
  }

  @Test("keys turn and zoom the focused picture of a lens view, and its positions are buttons")
  func lensKeys() async throws {
    try await withDashboard(Self.lenses) { browser, service in
      try await Self.open("door", in: browser)
      try await browser.run("document.querySelector('\(Self.canvas)').focus()")

      try await browser.press(.right)
      try await Self.wait(for: "yaw", 6, at: service)
      try await browser.press("\u{E013}")
      try await Self.wait(for: "pitch", 6, at: service)
      try await browser.press("-")
      try await Self.wait(for: "hfov", 66, at: service)
      try await browser.press(.home)
      try await Self.wait(for: "yaw", -40, at: service)
      try await Self.wait(for: "hfov", 30, at: service)
      // Keys that turn the picture do not step to another view.
      #expect(
        try await browser.text("return document.getElementById('detail-title').textContent") == "ceilingdoor")

      try await service.ask(
        "PATCH", "api/cameras/ceiling/views/door", json: #"{"yaw": 20, "roll": 15}"#)
      try await browser.wait(
        "the change", until: "/roll 15°/.test(document.getElementById('lens-pose').textContent)")
      try await browser.press("r")
      try await Self.wait(for: "roll", 0, at: service)
      try await browser.click("#lens-positions button")
      try await Self.wait(for: "yaw", -40, at: service)
    }
  }

  @Test("on a phone, one finger turns a lens view and two fingers zoom it")
  func lensTouched() async throws {
    try await withDashboard(Self.lenses, on: .phone) { browser, service in
      try await Self.open("door", in: browser)
      let middle = try await browser.middle(of: Self.canvas)
      func touch(_ type: String, _ offsets: [Int]) async throws {
        let points = offsets.enumerated().map { ["x": middle.x + $1, "y": middle.y, "id": $0] }
        try await browser.tell("Input.dispatchTouchEvent", ["type": type, "touchPoints": points])
      }

      try await touch("touchStart", [0])
      for offset in [30, 60] { try await touch("touchMove", [offset]) }
      try await touch("touchEnd", [])
      let turned = atan(60 / 195 * tan(30 * Double.pi / 180)) * 180 / .pi
      try await Self.wait(for: "yaw", -turned, at: service)

      try await touch("touchStart", [-40, 40])
      for offset in [60, 80] { try await touch("touchMove", [-offset, offset]) }
      try await touch("touchEnd", [])
      try await Self.wait(for: "hfov", 2 * atan(tan(30 * Double.pi / 180) / 2) * 180 / .pi, at: service)
      #expect(try await browser.number("return document.documentElement.scrollWidth") == 390)
    }
  }

  @Test("on the fisheye's own picture, dragging the middle of an outline turns its lens view")
  func lensOutlined() async throws {
    try await withDashboard(Self.lenses) { browser, service in
      try await Self.open("whole", in: browser)
      let handle = ".lens-handle[data-view=door]"
      try await browser.wait(
        "the outlines", until: "document.querySelectorAll('#lens-outlines polygon').length === 2")
      let middle = try await browser.middle(of: handle)
      let width = try await browser.number(
        "return document.querySelector('\(Self.canvas)').getBoundingClientRect().width")

      try await browser.drag(from: middle, to: (middle.x + Int(0.1 * width), middle.y))

      try await Self.wait(for: "yaw", 19, at: service)
      try await Self.wait(for: "pitch", 0, at: service)
      try await browser.run("document.querySelector('\(handle)').focus()")
      try await browser.press(.left)
      try await Self.wait(for: "yaw", 13, at: service)
      // A locked view has an outline that turns nothing.
      #expect(
        try await browser.text("return document.querySelector('.lens-handle[data-view=fixed]').tagName")
          == "SPAN")
      if let path = ProcessInfo.processInfo.environment["GLPREVIEW_SHOTS"] {
        try await browser.screenshot().write(to: URL(filePath: path + "/outlines.png"))
      }
    }
  }

  @Test(
    "a lens view that a browser plays by WebRTC turns with its moves",
    .enabled(if: hasWebRTC, "libssl3 or libsrtp2-1 is missing here: scripts/setup"))
  func lensMoved() async throws {
    try await withBrowser(Self.lenses) { browser, service in
      _ = try await browser.run(Self.player(of: "['video']", "{}", view: "ceiling/door"))
      func wait(_ left: String, _ right: String) async throws {
        try await browser.wait(
          "\(left) and \(right)",
          until: "window.seen?.left === '\(left)' && window.seen.right === '\(right)'")
      }
      func move(_ body: String) async throws {
        try await service.ask("POST", "api/cameras/ceiling/views/door/move", json: body)
      }
      // 18 degrees to both sides of the axis.
      try await wait("cyan", "magenta")
      try await move(#"{"to": {"yaw": 54}}"#)
      try await wait("magenta", "blue")
      try await move(#"{"to": {"yaw": -27}, "over": 0.5}"#)
      try await wait("yellow", "green")
      #expect(try await browser.text("return window.connection.connectionState") == "connected")
    }
  }

  @Test("the role read and locked views get no controls that turn a lens view")
  func lensReadOnly() async throws {
    let turns = """
      document.getElementById('lens').checkVisibility()
        || document.querySelector('\(Self.canvas)').hasAttribute('tabindex')
      """
    try await withDashboard(Self.lenses) { browser, _ in
      try await Self.open("fixed", in: browser)
      #expect(try await !browser.truth("return \(turns)"))
    }
    let configuration = "access: {tokens: [{token: look-at-all-of-it, role: read}]}\n\(Self.lenses)"
    try await withDashboard(configuration, expecting: ["401 (Unauthorized)"]) { browser, service in
      try await browser.wait("the form", until: "document.getElementById('login').open")
      let form = "[...document.querySelectorAll('#login form')][1]"
      try await browser.run("\(form).elements.token.value = 'look-at-all-of-it'; \(form).requestSubmit()")
      try await Self.open("door", in: browser)
      #expect(try await !browser.truth("return \(turns)"))
      let middle = try await browser.middle(of: Self.canvas)
      try await browser.drag(from: middle, to: (middle.x + 100, middle.y))

      try await browser.press(.escape)
      try await Self.open("whole", in: browser)
      try await browser.wait(
        "the outlines", until: "document.querySelectorAll('#lens-outlines polygon').length === 2")
      #expect(try await browser.number("return document.querySelectorAll('button.lens-handle').length") == 0)
      let cameras =
        try await service.ask("GET", "api/cameras", token: "look-at-all-of-it")["cameras"] as? [[String: Any]]
      let views = cameras?.first?["views"] as? [[String: Any]]
      let door = views?.first { $0["name"] as? String == "door" }
      #expect((door?["yaw"] as? NSNumber)?.doubleValue == 0)
    }
  }

  @Test("a freely rotated view shows its angle, takes another one, and offers no crop by dragging")
  func rotatedFreely() async throws {
    try await withDashboard(Self.lenses) { browser, service in
      try await Self.open("level", in: browser)
      #expect(try await browser.truth("return document.getElementById('crop-select').hidden"))
      #expect(try await browser.text("return document.querySelector('[name=angle]').value") == "12")
      #expect(
        try await browser.number("return document.querySelectorAll('[name=rotate]:checked').length") == 0)

      try await browser.run(
        """
        const field = document.querySelector('[name=angle]');
        field.value = '-1.5';
        field.dispatchEvent(new Event('change', {bubbles: true}));
        """)
      try await Self.wait(for: "rotate", 358.5, of: "level", at: service)
      try await browser.click("[name=rotate][value=\"0\"] + span")
      try await Self.wait(for: "rotate", 0, of: "level", at: service)
      try await browser.wait("the crop", until: "!document.getElementById('crop-select').hidden")
    }
  }
}
