// The dashboard of a node that has peers.
import Foundation
import Testing

extension DashboardTests {
  /// What the page shows of nodes: each heading with what is under it.
  private static let nodes = """
    [...document.querySelectorAll('.node')].map((node) => [
      node.querySelector('.node-head').checkVisibility()
        ? `${node.querySelector('.node-name').textContent}: ${node.querySelector('.node-meta').textContent}` : 'alone',
      ...[...node.querySelectorAll('.camera')].filter((camera) => camera.checkVisibility()).map((c) => c.dataset.camera),
    ].join(' ')).join('; ')
    """

  @Test(
    "a node groups its cameras, stops streaming when collapsed, and is shown as lost when it ends")
  func peers() async throws {
    let shed = try await Service.start(
      """
      cluster: {name: shed}
      cameras:
        yard: {source: "pattern:counter,size=320x180,fps=15"}
        door: {source: "pattern:counter,size=320x180,fps=15"}
      """)
    let port = try #require(shed.address.port)
    let house = """
      cluster: {name: house, peers: ["http://127.0.0.1:\(port)"]}
      cameras:
        hall: {source: "pattern:counter,size=320x180,fps=15"}
      """
    do {
      try await withDashboard(house) { browser, _ in
        for key in ["hall/main", "yard/main"] { try await browser.waitForTile(key) }
        try await browser.waitForMotion("[data-key=\"yard/main\"] canvas")
        try await browser.wait(
          "both nodes",
          until: "\(Self.nodes) === 'house: This node · 1 camera hall; shed: Up · 2 cameras yard door'")
        let levels = try await browser.text(
          "return [...document.querySelectorAll('main h2')].map((h) => h.ariaLevel ?? 2).join()")
        #expect(levels == "2,3,2,3,3")

        // A node that is closed is not streamed, and keys pass over it.
        try await browser.click(".node:last-child .node-head")
        try await browser.wait(
          "one tile", until: "\(Self.nodes) === 'house: This node · 1 camera hall; shed: Up · 2 cameras'")
        try await awaited("no stream of it") {
          try await shed.watchers(of: "yard") == 0 ? true : nil
        }
        for _ in 0..<2 { try await browser.press(.right) }
        #expect(
          try await browser.text("return document.activeElement.closest('.tile').dataset.key") == "hall/main")
        try await browser.run("document.querySelector('.node:last-child .node-head').focus()")
        try await browser.press(.enter)
        try await browser.waitForMotion("[data-key=\"door/main\"] canvas")

        await shed.end()
        try await browser.wait(
          "the loss",
          until:
            "document.querySelector('[data-camera=yard]').dataset.state === 'lost' && /; shed: Lost.* · 2 cameras · /.test(\(Self.nodes))"
        )
      }
    } catch {
      await shed.end()
      throw error
    }
  }

  @Test("a node without peers shows its cameras without a node heading")
  func alone() async throws {
    try await withDashboard(Self.cameras) { browser, _ in
      try await browser.waitForTile("bars/main")
      #expect(try await browser.text("return \(Self.nodes)") == "alone door bars")
      #expect(try await browser.text("return document.querySelector('.camera-name').ariaLevel") == "2")
    }
  }
}
