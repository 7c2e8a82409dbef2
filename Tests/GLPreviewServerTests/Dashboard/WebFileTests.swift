// The dashboard's files: all that the page names is there, and nothing is asked of anybody else.
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import GLPreviewServer

@Suite("The dashboard's files")
struct WebFileTests {
  private func text(_ path: String) throws -> String {
    let file = try #require(WebFile.all.first { $0.path == path })
    return String(buffer: file.content)
  }

  @Test("what the page and its modules load is served")
  func complete() throws {
    let named = try WebFile.all.flatMap { file in
      let code = try text(file.path)
      return code.matches(of: /(?:src|href|from)\s*=?\s*"(\/[a-z.]*)"/).map { String($0.1) }
    }
    #expect(named.contains("/dashboard.js") && named.contains("/stream.js"))
    for path in Set(named) {
      #expect(WebFile.all.contains { $0.path == path }, "\(path) is named, but not served")
    }
  }

  @Test("no file names another host, or needs what the policy forbids")
  func selfContained() throws {
    for file in WebFile.all {
      let code = try text(file.path).replacing("http://www.w3.org/2000/svg", with: "")
      #expect(!code.contains(/https?:\/\/|["']\/\/|@import|url\(/), "\(file.path) names another place")
      #expect(!code.contains(/\sstyle=|\son[a-z]+="|innerHTML|eval\(/), "\(file.path) has something inline")
    }
  }

  @Test("a file is given whole once, and 304 to who has it")
  func conditional() async throws {
    let router = Router()
    router.addDashboard()
    try await Application(router: router).test(.router) { client in
      let first = try await client.execute(uri: "/", method: .get)
      #expect(first.status == .ok)
      #expect(first.headers[.contentType] == "text/html; charset=utf-8")
      #expect(
        first.headers[.contentSecurityPolicy]?.hasPrefix("default-src 'none'; script-src 'self'") == true)
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
