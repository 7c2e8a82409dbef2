// Recordings in a real browser: listed beside the view, played in its place, and asked for.
import Foundation
import Testing

extension DashboardTests {
  static func recorded(in folder: URL, _ record: String, segment: String = "2s") -> String {
    """
    recordings: {path: \(folder.path)}
    cameras:
      door:
        source: pattern:counter,size=320x180,fps=20
        views: {main: {video: {keyframe: 0.5}}}
        record: {\(record), segment: \(segment)}
    """
  }

  static func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "recordings-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  @Test("recordings of the open camera are listed and played, and the live view resumes")
  func recordings() async throws {
    try await Self.withFolder { folder in
      try await withDashboard(Self.recorded(in: folder, "when: always")) { browser, _ in
        try await browser.waitForTile("door/main")
        try await browser.click("[data-key=\"door/main\"] .tile-open")
        let whole = "[...document.querySelectorAll('.recording')].filter(e => !/being/.test(e.textContent))"
        try await browser.wait("a recording that is whole", until: "\(whole).length > 0")
        #expect(try await browser.truth("return document.querySelectorAll('#timeline .recorded').length > 0"))
        #expect(try await browser.truth("return document.getElementById('record').hidden"))

        _ = try await browser.run("\(whole)[0].click()")
        try await browser.wait(
          "a picture of it",
          until: "(v => v && v.videoWidth === 320 && v.duration > 1 && v.currentTime > 0)"
            + "(document.getElementById('detail-player'))")
        try await browser.click("#recording-live")
        #expect(try await browser.truth("return document.getElementById('detail-player') === null"))
        try await browser.waitForMotion("#detail-canvas")
        try await browser.press(.escape)
        try await browser.waitForMotion("[data-key=\"door/main\"] canvas")
      }
    }
  }

  @Test("the record button starts and stops a recording and shows its state")
  func record() async throws {
    try await Self.withFolder { folder in
      try await withDashboard(Self.recorded(in: folder, "when: trigger, before: 1s, after: 1s")) {
        browser, _ in
        try await browser.waitForTile("door/main")
        try await browser.click("[data-key=\"door/main\"] .tile-open")
        try await browser.wait("the button", until: "!document.getElementById('record').hidden")
        try await browser.click("#record")
        try await browser.wait(
          "the recording",
          until: "/being recorded/.test(document.getElementById('recording-list').textContent)")
        try await browser.wait(
          "that it is told",
          until: "document.getElementById('record').getAttribute('aria-pressed') === 'true'")
        try await browser.click("#record")
        try await browser.wait(
          "its end",
          until: "document.querySelectorAll('.recording').length > 0"
            + " && !/being recorded/.test(document.getElementById('recording-list').textContent)")
      }
    }
  }
}
