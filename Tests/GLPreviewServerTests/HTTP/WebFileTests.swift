// The dashboard's files: all that the page names is there, and nothing is asked of anybody else.
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTesting
import Testing

@testable import ServiceCore
@testable import ServiceFoundation

@Suite("The dashboard's files")
struct WebFileTests {
  private func text(_ path: String) throws -> String {
    let file = try #require(WebFile.all.first { $0.path == path })
    return String(buffer: file.content)
  }

  @Test("all scripts and style sheets that the dashboard loads are served")
  func complete() throws {
    for file in WebFile.all {
      let named = try text(file.path).matches(of: /(?:src=|href=|from )"([a-z.\/]+\.(?:js|css))"/)
      if file.path == "/" || file.path == "/dashboard.js" { #expect(named.count > 3) }
      for name in named.map({ String($0.1) }) {
        let base = try #require(URL(string: "http://localhost\(file.path)"))
        let path = try #require(URL(string: name, relativeTo: base)).path
        #expect(WebFile.all.contains { $0.path == path }, "\(file.path) names \(name), which is not served")
      }
    }
  }

  @Test("dashboard files use only relative URLs, so that a proxy can serve them under any path")
  func relative() throws {
    for file in WebFile.all {
      #expect(
        try !text(file.path).contains(/(?:fetch\(|EventSource\(|src=|href=|from )["`]\//), "\(file.path)")
    }
  }

  @Test("dashboard files reference no other host and contain no inline scripts or styles")
  func selfContained() throws {
    for file in WebFile.all {
      let code = try text(file.path).replacing("http://www.w3.org/2000/svg", with: "")
      #expect(!code.contains(/https?:\/\/|["']\/\/|@import|url\(/), "\(file.path) names another place")
      #expect(!code.contains(/\sstyle=|\son[a-z]+="|innerHTML|eval\(/), "\(file.path) has something inline")
    }
  }

  @Test("dashboard files need no token, but a snapshot without a token returns 401")
  func open() async throws {
    var access = AccessConfiguration()
    access.tokens = [.init(secret: "look", role: .read)]
    let router = Router(context: ServiceContext.self)
    let routes = ServiceRoutes(router)
    router.add(
      middleware: AccessMiddleware(
        control: AccessControl(access), metrics: ServiceMetrics(),
        limits: LinkLimits(requestsPerSecond: 200)))
    DashboardRoutes { _, _ in nil }.add(to: routes)

    try await Application(router: router).test(.router) { client in
      for file in WebFile.all {
        let answer = try await client.execute(uri: file.path, method: .get)
        #expect(answer.status == .ok, "\(file.path)")
      }
      let picture = try await client.execute(uri: "/?action=snapshot", method: .get)
      #expect(picture.status == .unauthorized)
    }
  }

  @Test("a 304 response has no Content-Security-Policy header, so that the cached policy applies")
  func policyOfWhatIsKept() async throws {
    let router = Router(context: ServiceContext.self)
    router.add(middleware: SecurityHeadersMiddleware(isSecure: false))
    DashboardRoutes { _, _ in nil }.add(to: ServiceRoutes(router))

    try await Application(router: router).test(.router) { client in
      let first = try await client.execute(uri: "/", method: .get)
      let policy = try #require(first.headers[.contentSecurityPolicy])
      #expect(policy.contains("script-src 'self'"))

      let tag = try #require(first.headers[.eTag])
      let second = try await client.execute(uri: "/", method: .get, headers: [.ifNoneMatch: tag])
      #expect(second.status == .notModified)
      #expect(second.headers[.contentSecurityPolicy] == nil)
    }
  }

  @Test("a dashboard file returns 304 for its own ETag and 200 for another file's ETag")
  func conditional() async throws {
    let router = Router(context: ServiceContext.self)
    DashboardRoutes { _, _ in nil }.add(to: ServiceRoutes(router))

    try await Application(router: router).test(.router) { client in
      let first = try await client.execute(uri: "/", method: .get)
      #expect(first.status == .ok)
      #expect(first.headers[.contentType] == "text/html; charset=utf-8")
      #expect(first.body.readableBytes > 5000)

      let tag = try #require(first.headers[.eTag])
      let second = try await client.execute(uri: "/", method: .get, headers: [.ifNoneMatch: tag])
      #expect(second.status == .notModified)
      #expect(second.body.readableBytes == 0)

      let other = try await client.execute(uri: "/dashboard.js", method: .get, headers: [.ifNoneMatch: tag])
      #expect(other.status == .ok)
    }
  }
}
