// The dashboard where things go wrong, or are out of sight.
import Foundation
import Testing

extension DashboardTests {
  @Test("a lost camera's tile shows the fallback picture and the reason, and recovers with the camera")
  func lostCamera() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "glpreview-lost-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (alive, frame) = (folder.appending(path: "alive"), folder.appending(path: "frame.jpg"))
    try Data().write(to: alive)
    let render = try LocalProcess(
      try Service.command(), ["render", "pattern:smpte,size=320x180", "--frames", "1", "-o", frame.path])
    #expect(await render.ended() == 0)
    let configuration = """
      cameras:
        yard:
          source: "exec:while test -e '\(alive.path)'; do cat '\(frame.path)'; sleep 0.1; done"
      """

    try await withDashboard(configuration) { browser, _ in
      let canvas = "[data-key=\"yard/main\"] canvas"
      try await browser.waitForTile("yard/main")
      try await browser.waitForColor("grey", at: 0.05, 0.3, of: canvas)
      let live = try await browser.picture(canvas)

      try FileManager.default.removeItem(at: alive)
      try await browser.wait(
        "it to be lost", until: "document.querySelector('.tile').dataset.state === 'lost'")
      try await browser.wait("the reason", until: "document.querySelector('.veil-reason').textContent !== ''")
      try await browser.wait(
        "the summary", until: "document.getElementById('summary').textContent === '0 of 1 camera live'")
      try await awaited("the fallback") { try await browser.picture(canvas) != live ? true : nil }

      try Data().write(to: alive)
      try await browser.wait(
        "it to be live", until: "document.querySelector('.tile').dataset.state === 'live'")
      try await browser.waitForColor("grey", at: 0.05, 0.3, of: canvas)
    }
  }

  @Test("a hidden tab stops streaming and resumes when it is visible again")
  func hiddenTab() async throws {
    try await withDashboard(Self.cameras) { browser, service in
      try await browser.waitForTile("door/main")
      try await awaited("one to watch") { try await service.watchers(of: "door") == 1 ? true : nil }

      let (dashboard, other) = try await browser.openTab()
      try await browser.switchTo(other)
      try await awaited("nobody to watch") { try await service.watchers(of: "door") == 0 ? true : nil }

      try await browser.closeTab()
      try await browser.switchTo(dashboard)
      try await browser.tell("Page.bringToFront")
      try await browser.waitForMotion("[data-key=\"door/main\"] canvas")
    }
  }

  @Test("a view scrolled out of sight is not streamed")
  func outOfSight() async throws {
    let views = (0..<12).map { "v\($0): {size: 640x360}" }.joined(separator: ", ")
    let configuration = "cameras: {wall: {source: 'pattern:counter,size=640x360,fps=10', views: {\(views)}}}"
    let screen = WebDriver.Screen(width: 500, height: 600)

    try await withDashboard(configuration, on: screen) { browser, service in
      try await browser.waitForTile("wall/v0")
      #expect(try await service.watchers(of: "wall", "v11") == 0)

      try await browser.run("scrollTo(0, document.body.scrollHeight)")
      try await browser.waitForTile("wall/v11")
      try await awaited("the first to be let go") {
        try await service.watchers(of: "wall", "v0") == 0 ? true : nil
      }
    }
  }

  @Test("the page shows a notice while the service is down, and streams again on retry after a restart")
  func outage() async throws {
    let first = try await Service.start(Self.cameras)
    let browser = try await WebDriver.start()
    do {
      try await browser.open(first.address)
      try await browser.waitForTile("door/main")

      await first.end()
      try await browser.wait(
        "the page to say so", until: "document.getElementById('notice').checkVisibility()")
      try await browser.click("#notice-retry")

      let second = try await Service.start(Self.cameras, port: try #require(first.address.port))
      // Not by the mouse: the page may find the service by itself, and hide the button, before the mouse is there.
      try await browser.run("document.getElementById('notice-retry').click()")
      try await browser.waitForMotion("[data-key=\"door/main\"] canvas")
      try await browser.wait(
        "the page to be quiet", until: "!document.getElementById('notice').checkVisibility()")
      await second.end()
    } catch {
      await first.end()
      await browser.end()
      throw error
    }
    await browser.end()
  }

  @Test("a login survives a reload, sets no cookie that scripts can read, and ends with signing out")
  func signingIn() async throws {
    let configuration = "access: {tokens: [{token: look-and-change-things, role: control}]}\n\(Self.cameras)"
    // Signing out cuts off what the login watched.
    let expected = ["401 (Unauthorized)", "net::ERR_CONNECTION_RESET"]
    try await withDashboard(configuration, expecting: expected) { browser, _ in
      let form = "[...document.querySelectorAll('#login form')][1]"
      try await browser.wait("the form", until: "document.getElementById('login').open")

      try await browser.run("\(form).elements.token.value = 'wrong'; \(form).requestSubmit()")
      try await browser.wait(
        "a complaint", until: "document.getElementById('login-problem').checkVisibility()")

      try await browser.run(
        "\(form).elements.token.value = 'look-and-change-things'; \(form).requestSubmit()")
      try await browser.waitForTile("door/main")
      try await browser.waitForMotion("[data-key=\"door/main\"] canvas")
      #expect(try await browser.text("return document.cookie") == "")

      try await browser.run("location.reload()")
      try await browser.waitForTile("door/main")
      #expect(try await !browser.truth("return document.getElementById('login').open"))

      try await browser.click("#leave")
      try await browser.wait("the form again", until: "document.getElementById('login')?.open")
    }
  }

  @Test("a token with the read role gets disabled view controls and no snapshot buttons")
  func readers() async throws {
    let configuration = "access: {tokens: [{token: look-at-all-of-it, role: read}]}\n\(Self.cameras)"
    try await withDashboard(configuration, expecting: ["401 (Unauthorized)"]) { browser, _ in
      try await browser.wait("the form", until: "document.getElementById('login').open")
      let form = "[...document.querySelectorAll('#login form')][1]"

      try await browser.run("\(form).elements.token.value = 'look-at-all-of-it'; \(form).requestSubmit()")
      try await browser.waitForTile("bars/main")
      try await browser.click("[data-key=\"bars/main\"] .tile-open")

      #expect(try await browser.truth("return document.getElementById('controls-set').disabled"))
      let shutters =
        "[...document.querySelectorAll('.shoot, .camera-shoot')].filter((button) => button.checkVisibility()).length"
      #expect(try await browser.number("return \(shutters)") == 0)
    }
  }
}
