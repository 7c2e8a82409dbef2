// Addresses that can't be had, as a real server finds out.
import Foundation
import Hummingbird
import Logging
import Testing

@testable import ServiceFoundation

@Suite("Listen errors")
struct ListenErrorTests {
  /// What a server's end at an address comes to.
  private func end(_ address: BindAddress, _ said: ListenAddress) async
    -> ListenError?
  {
    let router = Router()
    let application = Application(
      router: router, configuration: ApplicationConfiguration(address: address), logger: Logger(label: "test")
    )
    do {
      try await application.run()
      return nil
    } catch {
      return ListenError(error, at: said)
    }
  }

  @Test("a listen error says that no interface of the machine has the address")
  func foreign() async {
    let error = await end(.hostname("192.0.2.1", port: 0), .host("192.0.2.1", port: 80))
    #expect(error?.description == "192.0.2.1:80: no interface of this machine has this address")
  }

  @Test("a listen error says that the folder of a socket does not exist")
  func folder() async {
    let path = "/tmp/glp-\(UUID().uuidString)/x.sock"
    let error = await end(.unixDomainSocket(path: path), .unix(path: path))
    #expect(error?.description == "unix:\(path): its folder does not exist")
  }

  @Test("a listen error says that the path is not a socket, and the file is kept")
  func file() async throws {
    let path = "/tmp/glp-\(UUID().uuidString).txt"
    try Data("kept".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let error = await end(.unixDomainSocket(path: path), .unix(path: path))
    #expect(error?.description == "unix:\(path): the file exists and is not a socket")
    #expect(try Data(contentsOf: URL(filePath: path)) == Data("kept".utf8))
  }

  @Test("an unrelated error does not become a listen error")
  func others() { #expect(ListenError(CancellationError(), at: .loopback) == nil) }
}
