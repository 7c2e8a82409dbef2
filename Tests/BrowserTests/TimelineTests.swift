// The timeline of recordings in a real browser: the pictures of times, playing from them, and what it saves.
import Foundation
import Testing

extension DashboardTests {
  private static let player = "document.getElementById('detail-player')"
  /// Whether the player shows a picture of a recording.
  private static let isLoaded =
    "\(player)?.readyState > 1 && !\(player).seeking && \(player).videoWidth === 320"

  /// Has recordings stay where they begin to play, so that this can be read.
  private static func holdPlayer(_ browser: WebDriver) async throws {
    try await browser.run(
      """
      const play = HTMLMediaElement.prototype.play;
      HTMLMediaElement.prototype.play = function () {
        return this.id === 'detail-player' ? Promise.resolve() : play.call(this);
      };
      """)
  }

  /// Waits until the open view has recordings that have ended.
  private static func waitForRecordings(_ browser: WebDriver) async throws {
    try await browser.waitForTile("door/main")
    try await browser.click("[data-key=\"door/main\"] .tile-open")
    try await browser.wait(
      "a recording that is whole",
      until: "[...document.querySelectorAll('.recording')].some(e => !/being/.test(e.textContent))")
    try await browser.run("document.getElementById('timeline').scrollIntoView({block: 'center'})")
  }

  /// Waits until the timeline shows a part of a storyboard's sheet.
  private static func waitForPicture(_ browser: WebDriver) async throws {
    let tile = "document.getElementById('timeline-picture')"
    try await browser.wait(
      "the picture of a time",
      until: "\(tile).checkVisibility() && "
        + "/storyboard\\.jpg\\?.*sheet=\\d+.*#xywh=\\d+,\\d+,\\d+,\\d+$/.test(\(tile).dataset.tile)")
  }

  @Test("the timeline shows the picture of the time at the pointer, and a click plays from there")
  func pointedTime() async throws {
    try await Self.withFolder { folder in
      let configuration = Self.recorded(in: folder, "when: always", segment: "12s")
      try await withDashboard(configuration) { browser, service in
        try await Self.holdPlayer(browser)
        try await Self.waitForRecordings(browser)

        try await browser.mouse("mouseMoved", at: try await browser.oldestRecording())
        try await Self.waitForPicture(browser)
        let picture = try await browser.picture("#timeline-picture")
        #expect(picture.hasPrefix("160x90 ") && picture != "160x90 0")
        let time = try await browser.text("return document.getElementById('timeline-time').textContent")
        #expect(time.contains(/\d\d:\d\d:\d\d/))

        let point = try await browser.oldestRecording()
        try await browser.mouse("mousePressed", at: point)
        try await browser.mouse("mouseReleased", at: point)
        try await browser.wait("its picture", until: Self.isLoaded)
        #expect(try await browser.number("return \(Self.player).currentTime") > 1)
        let isOldest = try await browser.truth(
          "return [...document.querySelectorAll('.recording')].at(-1).getAttribute('aria-current') === 'true'"
        )
        #expect(isOldest)

        let link = try await browser.text(
          "return document.getElementById('save-picture').getAttribute('href')")
        #expect(link.wholeMatch(of: /recordings\/door\.jpg\?at=\d+\.\d{3}&view=main&download=1/) != nil)
        let saved = try await HTTP.ask("GET", service.address.absoluteString + link, [:])
        #expect(saved.status == 200 && saved.body.prefix(2) == Data([0xff, 0xd8]))
      }
    }
  }

  @Test("the timeline works by keyboard, and buttons jump between events")
  func timelineKeys() async throws {
    try await Self.withFolder { folder in
      try await withDashboard(Self.recorded(in: folder, "when: always")) { browser, _ in
        try await Self.holdPlayer(browser)
        try await Self.waitForRecordings(browser)
        #expect(try await browser.truth("return document.getElementById('event-next').disabled"))
        try await browser.click("#event-back")
        try await browser.wait("a recording", until: Self.isLoaded)
        #expect(try await browser.number("return \(Self.player).currentTime") < 1)
        try await browser.click("#recording-live")
        try await browser.wait("the live view", until: "\(Self.player) === null")

        try await browser.run("document.getElementById('timeline').focus()")
        let slider = "document.getElementById('timeline')"
        // The newest pictures may be missing, so it goes on, and begins again at the end of the timeline.
        try await awaited("the picture of an earlier time") {
          try await browser.press(.left)
          if try await browser.truth("return \(slider).ariaValueNow === '0'") {
            try await browser.press(.end)
          }
          return try await browser.truth(
            "return document.getElementById('timeline-picture').checkVisibility()") ? true : nil
        }
        // The arrows did not move to another view.
        let title = try await browser.text("return document.getElementById('detail-title').textContent")
        #expect(title == "doormain")

        try await browser.press(.home)
        #expect(try await browser.text("return \(slider).ariaValueNow") == "0")
        #expect(try await browser.text("return \(slider).ariaValueText").contains("No recording"))
        try await browser.press(.enter)
        try await browser.wait("the recording after that gap", until: Self.isLoaded)
        #expect(try await browser.number("return \(Self.player).currentTime") < 1)
      }
    }
  }

  @Test("dragging with Shift selects a span to save, and the reason is shown if it can't be saved")
  func savedSpan() async throws {
    try await Self.withFolder { folder in
      let configuration = Self.recorded(in: folder, "when: always")
      try await withDashboard(configuration, expecting: ["404 (Not Found)"]) { browser, service in
        try await Self.waitForRecordings(browser)
        // From the middle of the timeline over its end, which is now.
        let middle = try await browser.middle(of: "#timeline")
        let point = (x: Double(middle.x), y: Double(middle.y))
        try await browser.mouse("mousePressed", at: point, shift: true)
        for step in 1...3 {
          let next = (x: point.x + 55 * Double(step), y: point.y)
          try await browser.mouse("mouseMoved", at: next, isDown: true, shift: true)
        }
        try await browser.mouse("mouseReleased", at: (x: point.x + 165, y: point.y), shift: true)
        try await browser.wait(
          "the span",
          until: "document.querySelector('#saving[open]') && "
            + "document.querySelector('#timeline .part').checkVisibility()")
        #expect(try await browser.truth("return \(Self.player) === null"))

        let link = "document.getElementById('save-video')"
        let path = try await browser.text("return \(link).getAttribute('href')")
        let span = try #require(
          path.wholeMatch(
            of: /recordings\/door\.mp4\?from=(\d+)\.000&to=(\d+)\.000&view=main&download=1/))
        let (from, to) = (try #require(Int(span.1)), try #require(Int(span.2)))
        #expect(from < to)
        #expect(try await browser.truth("return \(link).hasAttribute('download')"))
        let saved = try await HTTP.ask("GET", service.address.absoluteString + path, [:])
        #expect(saved.status == 200 && Array(saved.body.dropFirst(4).prefix(4)) == Array("ftyp".utf8))

        try await browser.fill("save-from", with: "2020-01-01T00:00:00")
        try await browser.fill("save-to", with: "2020-01-01T01:00:00")
        try await browser.click("#save-video")
        try await browser.wait(
          "the reason",
          until: "document.getElementById('notice').checkVisibility() && "
            + "/can't be saved/.test(document.getElementById('notice').textContent)")

        try await browser.fill("save-to", with: "2019-01-01T00:00:00")
        try await browser.wait(
          "the problem", until: "document.getElementById('save-problem').checkVisibility()")
        #expect(try await browser.truth("return !\(link).hasAttribute('href')"))
      }
    }
  }

  @Test("on a phone, a reader drags over the timeline to see pictures of it")
  func timelineByTouch() async throws {
    var screen = WebDriver.Screen.phone
    screen.isDark = true
    try await Self.withFolder { folder in
      let configuration =
        "access: {tokens: [{token: look-at-all-of-it, role: read}]}\n"
        + Self.recorded(in: folder, "when: always")
      try await withDashboard(configuration, on: screen, expecting: ["401 (Unauthorized)"]) { browser, _ in
        try await browser.wait("the form", until: "document.getElementById('login').open")
        let form = "[...document.querySelectorAll('#login form')][1]"
        try await browser.run("\(form).elements.token.value = 'look-at-all-of-it'; \(form).requestSubmit()")
        try await Self.waitForRecordings(browser)
        try await browser.click("#saving summary")

        try await browser.run("document.getElementById('timeline').scrollIntoView({block: 'center'})")
        let point = try await browser.oldestRecording()
        try await browser.touch("touchStart", at: [(x: point.x - 60, y: point.y)])
        for x in [point.x - 30, point.x] { try await browser.touch("touchMove", at: [(x: x, y: point.y)]) }
        try await Self.waitForPicture(browser)

        let nameless = try await browser.number(
          """
          const controls = document.querySelectorAll('#recordings :is(button, input, a, canvas)');
          return [...controls].filter((element) => {
            const name = element.ariaLabel || element.textContent.trim() || element.labels?.length;
            return element.checkVisibility() && !name;
          }).length;
          """)
        #expect(nameless == 0)
        #expect(
          try await browser.truth(
            "const i = document.querySelector('.inspector'); return i.scrollWidth <= i.clientWidth"))

        try await browser.touch("touchEnd", at: [])
        try await browser.wait("a recording", until: Self.isLoaded)
      }
    }
  }
}

extension WebDriver {
  /// A point of the oldest recording in the timeline, before its middle: until it is clicked on, the timeline
  /// may move a little to the left.
  fileprivate func oldestRecording() async throws -> (x: Double, y: Double) {
    let box = "[...document.querySelectorAll('#timeline .recorded')].at(-1).getBoundingClientRect()"
    let x = try await number("const box = \(box); return box.x + 0.4 * box.width")
    return (x, try await number("const box = \(box); return box.y + box.height / 2"))
  }

  /// Moves the mouse, or presses or releases its button: `type` as in Chromium's `Input.dispatchMouseEvent`.
  fileprivate func mouse(
    _ type: String, at point: (x: Double, y: Double), isDown: Bool = false, shift: Bool = false
  ) async throws {
    let isPressed = isDown || type == "mousePressed"
    try await tell(
      "Input.dispatchMouseEvent",
      [
        "type": type, "x": point.x, "y": point.y, "clickCount": 1, "modifiers": shift ? 8 : 0,
        "button": type == "mouseMoved" && !isDown ? "none" : "left", "buttons": isPressed ? 1 : 0,
      ])
  }

  /// Moves a finger: `type` as in Chromium's `Input.dispatchTouchEvent`.
  fileprivate func touch(_ type: String, at points: [(x: Double, y: Double)]) async throws {
    let touches = points.map { ["x": $0.x, "y": $0.y] }
    try await tell("Input.dispatchTouchEvent", ["type": type, "touchPoints": touches])
  }

  /// Sets a field's content as a user does.
  fileprivate func fill(_ id: String, with text: String) async throws {
    try await run(
      """
      const field = document.getElementById('\(id)');
      field.value = '\(text)';
      field.dispatchEvent(new Event('change', {bubbles: true}));
      """)
  }
}
