// The dashboard as the tests see it: what its tiles show, and what Chromium saw of it.
import Foundation
import Testing

/// Runs `body` beside a service of `configuration`, and ends that.
func withService(_ configuration: String, _ body: (Service) async throws -> Void) async throws {
  let service = try await Service.start(configuration)
  do {
    try await body(service)
  } catch {
    await service.end()
    throw error
  }
  await service.end()
}

/// Opens the first page of a service of `configuration` for as long as `body` runs.
func withBrowser(
  _ configuration: String, on screen: WebDriver.Screen = .desktop,
  _ body: (WebDriver, Service) async throws -> Void
) async throws {
  try await withService(configuration) { service in
    let browser = try await WebDriver.start(screen)
    do {
      try await browser.open(service.address)
      try await body(browser, service)
    } catch {
      await browser.end()
      throw error
    }
    await browser.end()
  }
}

/// Opens the dashboard of a service of `configuration` for as long as `body` runs. Whatever is tried: afterwards nothing was
/// asked of another host, there is one stream and one connection for events, and the console has no complaint but those that
/// are `expected`.
func withDashboard(
  _ configuration: String, on screen: WebDriver.Screen = .desktop, expecting expected: [String] = [],
  _ body: (WebDriver, Service) async throws -> Void
) async throws {
  try await withBrowser(configuration, on: screen) { browser, service in
    try await body(browser, service)
    try await browser.checkConduct(of: service.address, expecting: expected)
  }
}

extension WebDriver {
  /// Has toasts stay until they are closed, however long a test takes to look at them.
  func keepToasts() async throws {
    try await run(
      "const set = window.setTimeout; window.setTimeout = (f, ms, ...rest) => set(f, ms === 7000 ? 3.6e6 : ms, ...rest)"
    )
  }

  /// Waits until the page has a tile of a view that shows pictures of it.
  func waitForTile(_ key: String) async throws {
    try await wait(
      "pictures of \(key)", until: "document.querySelector('[data-key=\"\(key)\"] canvas')?.width > 16")
  }

  /// Waits until what a canvas shows has been different `count` times.
  func waitForMotion(_ selector: String, count: Int = 3) async throws {
    var last = ""
    var seen = 0
    try await awaited("\(selector) to move") {
      let now = try await picture(selector)
      if now != last { (last, seen) = (now, seen + 1) }
      return seen > count ? true : nil
    }
  }

  /// What a canvas shows, as a text that is another for another picture.
  func picture(_ selector: String) async throws -> String {
    try await text(
      """
      const canvas = document.querySelector('\(selector)');
      \(copied) const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
      let hash = 0;
      for (let at = 0; at < data.length; at += 4) hash = (Math.imul(hash, 31) + data[at] + 7 * data[at + 1] + 13 * data[at + 2]) | 0;
      return `${canvas.width}x${canvas.height} ${hash}`;
      """)
  }

  /// The page's canvas is left alone: where it is read often, Chromium has it drawn in another way.
  private var copied: String {
    """
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
    copy.drawImage(canvas, 0, 0);
    """
  }

  /// The colour of a canvas at fractions of its width and height: `red`, `green`, `blue`... as the bars of `smpte` are called.
  func color(_ selector: String, _ x: Double, _ y: Double) async throws -> String {
    try await text(
      """
      const canvas = document.querySelector('\(selector)');
      const at = [Math.floor(\(x) * canvas.width), Math.floor(\(y) * canvas.height)];
      \(copied) \(WatchedVideo.colors) return named(copy.getImageData(...at, 1, 1).data);
      """)
  }

  /// Waits until a canvas has a colour somewhere.
  func waitForColor(_ color: String, at x: Double, _ y: Double, of selector: String) async throws {
    try await awaited("\(color) at \(x), \(y) of \(selector)") {
      try await self.color(selector, x, y) == color ? true : nil
    } orElse: {
      (try? await self.color(selector, x, y)) ?? ""
    }
  }

  /// The middle of an element, in the window.
  func middle(of selector: String) async throws -> (x: Int, y: Int) {
    let box = "document.querySelector('\(selector)').getBoundingClientRect()"
    let x = try await number("const box = \(box); return box.x + box.width / 2")
    let y = try await number("const box = \(box); return box.y + box.height / 2")
    return (Int(x), Int(y))
  }

  /// Sees to it that the page behaved since it was opened.
  func checkConduct(of address: URL, expecting expected: [String]) async throws {
    let complaints = try await console().filter { $0.level == "SEVERE" || $0.level == "WARNING" }
    for (level, message) in complaints where !expected.contains(where: { message.contains($0) }) {
      Issue.record("the console has: \(level) \(message)")
    }
    var requests = Requests()
    let kept = ["/api/stream", "/api/events"]
    try await awaited("one connection of each kind") {
      for (method, parameters) in try await network() { requests.note(method, parameters) }
      return kept.allSatisfy { requests.open($0) <= 1 } ? true : nil
    }
    #expect(requests.hosts == ["\(address.host() ?? ""):\(address.port ?? 0)"])
    // One that the page has given up is told of a moment after the next one.
    for path in kept { #expect(requests.mostAtATime[path, default: 0] <= 2, "\(path)") }
    #expect(requests.refused == [])
  }

  /// Views that the streams asked for since the network's events were read last, a list for each stream; a video is of one.
  func streamedViews() async throws -> [[String]] {
    try await network().compactMap { method, parameters in
      guard method == "Network.requestWillBeSent", let url = Requests.address(in: parameters) else {
        return nil
      }
      if url.pathExtension == "mp4" {
        return [url.deletingPathExtension().pathComponents.suffix(2).joined(separator: "/")]
      }
      guard url.path.hasSuffix("/api/stream"),
        let words = URLComponents(url: url, resolvingAgainstBaseURL: false)
      else { return nil }
      return (words.queryItems ?? []).filter { $0.name == "view" }.compactMap(\.value)
    }
  }
}

/// What Chromium's network stack did.
private struct Requests {
  /// Of all that was asked over a network.
  private(set) var hosts: Set<String> = []
  /// How many requests of a path were open at a time, at most.
  private(set) var mostAtATime: [String: Int] = [:]
  /// What a policy forbade.
  private(set) var refused: [String] = []
  private var open: [String: String] = [:]

  /// How many requests of a path are open.
  func open(_ path: String) -> Int { open.values.count { $0 == path } }

  mutating func note(_ method: String, _ parameters: [String: Any]) {
    let id = parameters["requestId"] as? String ?? ""
    switch method {
    case "Network.requestWillBeSent":
      guard let url = Requests.address(in: parameters), ["http", "https", "ws", "wss"].contains(url.scheme)
      else { return }
      hosts.insert("\(url.host() ?? ""):\(url.port ?? 0)")
      // Another page has none of the requests of the one before it, and nothing is told of their end.
      if parameters["type"] as? String == "Document" { open = [:] }
      // A video takes the place of the stream. A recording is read by several requests.
      let isVideo = url.pathExtension == "mp4" && !url.path.hasPrefix("/recordings/")
      let path = isVideo ? "/api/stream" : url.path
      open[id] = path
      mostAtATime[path] = max(mostAtATime[path, default: 0], open(path))
    case "Network.loadingFinished", "Network.loadingFailed":
      if let reason = parameters["blockedReason"] as? String {
        refused.append("\(reason): \(open[id] ?? "")")
      }
      open[id] = nil
    default: return
    }
  }

  static func address(in parameters: [String: Any]) -> URL? {
    ((parameters["request"] as? [String: Any])?["url"] as? String).flatMap { URL(string: $0) }
  }
}
