// The dashboard of a node that has peers.
import Foundation
import Testing

extension DashboardTests {
  @Test(
    "cameras of a peer are shown among the node's own, with its name, and move; one that is away is shown as lost"
  )
  func peers() async throws {
    let shed = try await Service.start(
      """
      cluster: {name: shed}
      cameras:
        yard: {source: "pattern:counter,size=320x180,fps=15"}
      """)
    let port = try #require(shed.address.port)
    let house = """
      cluster: {name: house, peers: ["http://127.0.0.1:\(port)"]}
      cameras:
        door: {source: "pattern:counter,size=320x180,fps=15"}
      """
    do {
      try await withDashboard(house) { browser, _ in
        for key in ["door/main", "yard/main"] { try await browser.waitForTile(key) }
        try await browser.waitForMotion("[data-key=\"yard/main\"] canvas")
        let nodes = try await browser.text(
          "return [...document.querySelectorAll('.camera')].map((c) => `${c.dataset.camera} ${c.querySelector('.camera-node').checkVisibility() ? c.querySelector('.camera-node').textContent : ''}`).join()"
        )
        #expect(nodes == "door ,yard shed")
        await shed.end()
        try await browser.wait(
          "the loss",
          until: "document.querySelector('[data-camera=yard]').dataset.state === 'lost'")
      }
    } catch {
      await shed.end()
      throw error
    }
  }
}
