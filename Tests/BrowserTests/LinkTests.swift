// Signed links in a real browser: created in the dashboard, and opened where nobody has signed in.
import Foundation
import Testing

extension DashboardTests {
  private static let restricted = """
    access:
      tokens: [{token: look-and-change-things, role: control}]
      link-keys: {mail: {secret: 0123456789abcdef0123456789abcdef, cameras: [door]}}
    cameras:
      door: {source: "pattern:counter,size=320x180,fps=20", views: {main: {}, small: {size: 160x}}}
      yard: {source: "pattern:smpte,size=320x180"}
    """

  @Test("a link that the dashboard creates opens in another browser profile without a login")
  func links() async throws {
    try await withDashboard(Self.restricted, expecting: ["401 (Unauthorized)"]) { browser, _ in
      try await browser.wait("the form", until: "document.getElementById('login').open")
      let login = "[...document.querySelectorAll('#login form')][1]"
      try await browser.run(
        "\(login).elements.token.value = 'look-and-change-things'; \(login).requestSubmit()")
      try await browser.waitForTile("door/small")
      try await browser.click("[data-key=\"door/small\"] .tile-open")
      #expect(try await browser.truth("return document.getElementById('link-forever').hidden"))
      try await browser.click("#link-create")
      try await browser.wait("the link", until: "document.getElementById('link-made').checkVisibility()")
      let link = try await browser.text("return document.getElementById('link-url').value")
      #expect(link.contains("/cameras/door/small.jpg?expires=") && link.contains("&sign=mail."))
      #expect(
        try await browser.text("return document.getElementById('link-end').textContent").contains("until"))
      if let path = ProcessInfo.processInfo.environment["GLPREVIEW_SHOTS"] {
        try await browser.run("document.getElementById('link-form').scrollIntoView()")
        try await browser.screenshot().write(to: URL(filePath: path + "/links.png"))
      }

      // Another view's form shows no link of this one, and a camera without a key has no form.
      try await browser.click("#detail-back")
      #expect(try await !browser.truth("return document.getElementById('link-made').checkVisibility()"))
      try await browser.press(.escape)
      try await browser.click("[data-key=\"yard/main\"] .tile-open")
      #expect(try await browser.truth("return document.getElementById('link-form').hidden"))
      try await browser.press(.escape)

      let other = try await WebDriver.start()
      do {
        try await other.open(#require(URL(string: link)))
        try await other.wait("the picture", until: "document.images[0]?.naturalWidth === 160")
        try await other.open(#require(URL(string: link + "&width=320")))
        #expect(try await other.text("return document.body.textContent").contains("not valid"))
      } catch {
        await other.end()
        throw error
      }
      await other.end()
    }
  }
}
