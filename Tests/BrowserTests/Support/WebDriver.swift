// Chromium, driven by hand: the few words of WebDriver that the tests need.
import Foundation

/// A browser with one window. It ends with `end`.
struct WebDriver: Sendable {
  private let process: LocalProcess
  private let base: URL
  private let session: String
  private let profile: URL

  /// Where the programs are; nil where they aren't.
  static let programs: (browser: String, driver: String)? = {
    guard let browser = find("chromium"), let driver = find("chromedriver") else { return nil }
    return (browser, driver)
  }()

  private static func find(_ name: String) -> String? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return path.split(separator: ":").map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// A screen as its people have it.
  struct Screen: Sendable {
    var width = 1280
    var height = 800
    var density = 1.0
    var isPhone = false
    var isDark = false

    static let desktop = Screen()
    static let phone = Screen(width: 390, height: 844, density: 2, isPhone: true)
  }

  /// Starts a browser with nothing remembered.
  static func start(_ screen: Screen = .desktop) async throws -> WebDriver {
    guard let programs else {
      throw NotThere("no chromium or chromedriver in PATH: make test-browser installs them")
    }
    let (process, port) = try await startDriver(programs.driver)
    do {
      return try await begin(screen, programs.browser, process, port)
    } catch {
      await process.end()
      throw error
    }
  }

  /// The driver takes a port that is free for IPv6, and ends where somebody else has it for IPv4: then it is started again.
  private static func startDriver(_ driver: String) async throws -> (process: LocalProcess, port: String) {
    var attempts = 0
    while true {
      attempts += 1
      let process = try LocalProcess(driver, ["--port=0"])
      do {
        return (process, try await process.said(/started successfully on port (\d+)/))
      } catch {
        await process.end()
        if attempts == 10 { throw error }
      }
    }
  }

  private static func begin(
    _ screen: Screen, _ browser: String, _ process: LocalProcess, _ port: String
  ) async throws -> WebDriver {
    let profile = FileManager.default.temporaryDirectory.appending(
      path: "glpreview-browser-\(UUID().uuidString)")
    guard let base = URL(string: "http://127.0.0.1:\(port)") else { throw NotThere("a port, not \(port)") }
    let options: [String: Any] = [
      "binary": browser,
      "args": [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
        "--no-first-run", "--disable-component-update", "--disable-background-networking",
        "--autoplay-policy=no-user-gesture-required", "--allow-loopback-in-peer-connection",
        "--window-size=\(screen.width),\(screen.height)", "--user-data-dir=\(profile.path)",
      ],
    ]
    let wanted: [String: Any] = [
      "browserName": "chrome", "goog:chromeOptions": options,
      "timeouts": ["script": 3_600_000, "pageLoad": 3_600_000],
      "goog:loggingPrefs": ["browser": "ALL", "performance": "ALL"],
    ]
    let answer = try await send(base, "POST", "/session", ["capabilities": ["alwaysMatch": wanted]])
    guard let id = (answer as? [String: Any])?["sessionId"] as? String else { throw NotThere("a session") }
    let driver = WebDriver(process: process, base: base, session: "/session/\(id)", profile: profile)
    try await driver.show(screen)
    return driver
  }

  func end() async {
    _ = try? await send("DELETE", "")
    await process.end()
    try? FileManager.default.removeItem(at: profile)
  }

  private func show(_ screen: Screen) async throws {
    try await tell(
      "Emulation.setDeviceMetricsOverride",
      [
        "width": screen.width, "height": screen.height, "deviceScaleFactor": screen.density,
        "mobile": screen.isPhone,
      ])
    try await tell("Emulation.setTouchEmulationEnabled", ["enabled": screen.isPhone])
    let features = [["name": "prefers-color-scheme", "value": screen.isDark ? "dark" : "light"]]
    try await tell("Emulation.setEmulatedMedia", ["features": features])
  }

  // MARK: What a browser does

  func open(_ address: URL) async throws {
    _ = try await send("POST", "/url", ["url": address.absoluteString])
  }

  /// Runs a function's body in the page; what it returns, as JSON has it.
  @discardableResult
  func run(_ script: String) async throws -> Any? {
    try await send("POST", "/execute/sync", ["script": script, "args": [Any]()])
  }

  func text(_ script: String) async throws -> String { try await run(script) as? String ?? "" }
  func number(_ script: String) async throws -> Double {
    (try await run(script) as? NSNumber)?.doubleValue ?? .nan
  }
  func truth(_ script: String) async throws -> Bool {
    (try await run(script) as? NSNumber)?.boolValue ?? false
  }

  /// Waits until an expression is true in the page.
  func wait(_ what: String, until expression: String) async throws {
    try await awaited(what) {
      try await truth("return Boolean(\(expression))") ? true : nil
    } orElse: {
      (try? await text("return document.body.innerText")) ?? ""
    }
  }

  /// Presses and releases a key, as the one who sits there does.
  func press(_ key: Key) async throws { try await press(key.rawValue) }

  func press(_ key: String) async throws {
    let strokes = [["type": "keyDown", "value": key], ["type": "keyUp", "value": key]]
    let keyboard: [String: Any] = ["type": "key", "id": "keyboard", "actions": strokes]
    _ = try await send("POST", "/actions", ["actions": [keyboard]])
  }

  /// Clicks in the middle of what a selector finds, once it is to be seen; again where the page has changed meanwhile.
  func click(_ selector: String) async throws {
    var attempts = 0
    while true {
      attempts += 1
      try await wait(
        "\(selector) to be there", until: "document.querySelector('\(selector)')?.checkVisibility()")
      do {
        let found =
          try await send("POST", "/element", ["using": "css selector", "value": selector]) as? [String: Any]
        guard let id = found?.values.first as? String else { throw NotThere(selector) }
        _ = try await send("POST", "/element/\(id)/click", [String: Any]())
        return
      } catch {
        if attempts == 10 { throw error }
      }
    }
  }

  /// Drags from one point of the window to another.
  func drag(from start: (x: Int, y: Int), to end: (x: Int, y: Int)) async throws {
    let strokes: [[String: Any]] = [
      ["type": "pointerMove", "x": start.x, "y": start.y], ["type": "pointerDown", "button": 0],
      ["type": "pointerMove", "x": (start.x + end.x) / 2, "y": (start.y + end.y) / 2],
      ["type": "pointerMove", "x": end.x, "y": end.y], ["type": "pointerUp", "button": 0],
    ]
    let mouse: [String: Any] = [
      "type": "pointer", "id": "mouse", "parameters": ["pointerType": "mouse"], "actions": strokes,
    ]
    _ = try await send("POST", "/actions", ["actions": [mouse]])
  }

  /// Another tab, in front of this one, which is hidden from then on; the driver goes with it.
  func openTab() async throws -> (here: String, new: String) {
    guard let here = try await send("GET", "/window") as? String,
      let new = (try await send("POST", "/window/new", ["type": "tab"]) as? [String: Any])?["handle"]
        as? String
    else { throw NotThere("a tab") }
    return (here, new)
  }

  func switchTo(_ tab: String) async throws { _ = try await send("POST", "/window", ["handle": tab]) }
  func closeTab() async throws { _ = try await send("DELETE", "/window") }

  /// A PNG of the window.
  func screenshot() async throws -> Data {
    let text = try await send("GET", "/screenshot") as? String
    guard let png = text.flatMap({ Data(base64Encoded: $0) }) else { throw NotThere("a screenshot") }
    return png
  }

  /// What the page's console has got since this was asked last: levels and messages.
  func console() async throws -> [(level: String, message: String)] {
    try await log("browser").map { ($0["level"] as? String ?? "", $0["message"] as? String ?? "") }
  }

  /// Events of Chromium's network stack since this was asked last: `Network.*`, with their parameters.
  func network() async throws -> [(method: String, parameters: [String: Any])] {
    try await log("performance").compactMap { entry in
      guard let text = entry["message"] as? String,
        let whole = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
        let message = whole["message"] as? [String: Any], let method = message["method"] as? String,
        method.hasPrefix("Network.")
      else { return nil }
      return (method, message["params"] as? [String: Any] ?? [:])
    }
  }

  private func log(_ type: String) async throws -> [[String: Any]] {
    try await send("POST", "/se/log", ["type": type]) as? [[String: Any]] ?? []
  }

  /// A word of Chromium's own protocol.
  func tell(_ command: String, _ parameters: [String: Any] = [:]) async throws {
    _ = try await send("POST", "/goog/cdp/execute", ["cmd": command, "params": parameters])
  }

  // MARK: WebDriver

  private func send(_ method: String, _ path: String, _ body: [String: Any]? = nil) async throws -> Any? {
    try await WebDriver.send(base, method, session + path, body)
  }

  private static func send(
    _ base: URL, _ method: String, _ path: String, _ body: [String: Any]?
  ) async throws -> Any? {
    let json = try body.map { try JSONSerialization.data(withJSONObject: $0) }
    let answer = try await HTTP.ask(
      method, base.absoluteString + path, ["Content-Type": "application/json"], json)
    guard answer.status == 200 else { throw NotThere("\(method) \(path): \(answer.text.prefix(800))") }
    return (try JSONSerialization.jsonObject(with: answer.body) as? [String: Any])?["value"]
  }
}

/// Keys that make no letter, as WebDriver has them.
enum Key: String {
  case escape = "\u{E00C}"
  case enter = "\u{E007}"
  case tab = "\u{E004}"
  case left = "\u{E012}"
  case right = "\u{E014}"
  case end = "\u{E010}"
  case home = "\u{E011}"
}
