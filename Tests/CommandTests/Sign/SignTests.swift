// `glpreview sign`: links that a service accepts, and what is refused.
import Foundation
import TestSupport
import Testing

@Suite("The command sign", .timeLimit(.minutes(15)))
struct SignTests {
  private let folder: TestFolder

  private static let secret = "0123456789abcdef0123456789abcdef"

  init() throws {
    folder = try TestFolder()
    try folder.write(Array("\(Self.secret)\n".utf8), to: "mail.key")
    try folder.write(
      Array(
        """
        public-url: https://cams.example.org/x
        access: {link-keys: {mail: {secret-file: mail.key, cameras: [camera]}}}
        """.utf8), to: "links.yaml")
  }

  private func sign(_ arguments: String...) async throws -> (status: Int32, text: String, errors: String) {
    let result = try await folder.run(["sign"] + arguments)
    return (result.status, String(decoding: result.output, as: UTF8.self), result.errors)
  }

  @Test("a link of the command opens a picture of a service that has its key")
  func opens() async throws {
    let service = try await ServedCommand(
      "pattern:smpte,size=64x48", "--config", "links.yaml", "--token", "look", in: folder)
    let link = try await sign("/cameras/camera/main.jpg?width=32", "--config", "links.yaml")
    #expect(link.status == 0 && link.errors.isEmpty)
    let base = "https://cams.example.org/x"
    #expect(
      link.text.hasPrefix("\(base)/cameras/camera/main.jpg?width=32&expires=") && link.text.hasSuffix("\n"))
    let path = String(link.text.dropFirst(base.count).dropLast())
    for (url, status) in [
      (path, "200"), (path + "&a=1", "403"), ("/cameras/camera/main.jpg?width=32", "401"),
    ] {
      let answer = try await LoopbackSocket(port: service.port).answer(
        to: "GET \(url) HTTP/1.1\r\nHost: cams.example.org\r\nConnection: close\r\n\r\n")
      #expect(answer.starts(with: Array("HTTP/1.1 \(status)".utf8)), "\(url)")
    }
  }

  @Test(
    "a link keeps the beginning of its URL, or gets that of public-url",
    arguments: [
      ("/cameras/camera/main.jpg", "https://cams.example.org/x/cameras/camera/main.jpg?expires="),
      (
        "https://cams.example.org/x/cameras/camera/main.jpg?a=1",
        "https://cams.example.org/x/cameras/camera/main.jpg?a=1&expires="
      ),
      (
        "HTTPS://Cams.Example.org/x/cameras/camera/main.jpg",
        "https://cams.example.org/x/cameras/camera/main.jpg?expires="
      ),
      (
        "http://10.0.0.1:8080/cameras/camera/main.jpg",
        "http://10.0.0.1:8080/cameras/camera/main.jpg?expires="
      ),
    ])
  func beginnings(url: String, expected: String) async throws {
    let link = try await sign(url, "--for", "12h", "--config", "links.yaml")
    #expect(link.text.hasPrefix(expected), "\(link.text)\(link.errors)")
  }

  @Test("a key's name and its file sign without a configuration, also without an end")
  func keyFile() async throws {
    let link = try await sign(
      "/cameras/door/main.jpg", "--forever", "--key", "mail", "--secret-file", "mail.key")
    // hmac.new(secret, b"mail:/cameras/door/main.jpg?", "sha256") in base64 for URLs
    #expect(link.text == "/cameras/door/main.jpg?sign=mail.Y8vQJ9EY6sdwec6JBiNj4lZjVyPiStJoHKul81eYJuQ\n")
  }

  @Test(
    "wrong usage gets status 64 and a reason without the secret",
    arguments: [
      (["/cameras/door/main.jpg", "--config", "links.yaml"], "no key signs links to 'door'"),
      (["/cameras/camera/main.jpg", "--config", "links.yaml", "--key", "post"], "no key 'post'"),
      (["/cameras/camera/main.jpg", "--config", "links.yaml", "--forever"], "without an end"),
      (["/cameras/camera/main.jpg", "--config", "links.yaml", "--for", "soon"], "not a time"),
      (["/cameras/camera/main.jpg"], "--key NAME and --secret-file FILE"),
      (["/api/cameras", "--config", "links.yaml"], "path of a picture or stream"),
      (["/api/cameras/camera/motion/7.jpg", "--config", "links.yaml"], "needs the parameter 'since'"),
      (["/cameras/camera/main/whep", "--config", "links.yaml"], "path of a picture or stream"),
      (["/cameras/camera/main.jpg?sign=x", "--config", "links.yaml"], "already has"),
      (["/cameras/camera/main.jpg", "--secret-file", "mail.key"], "--key NAME"),
      (
        ["/cameras/camera/main.jpg", "--key", "mail", "--secret-file", "none.key"],
        "--secret-file none.key: no such file"
      ),
      (["/cameras/camera/main.jpg", "--key", "mail", "--secret-file", "links.yaml"], "several lines"),
      (["/cameras/camera/main.jpg", "--for", "1h", "--forever"], "can't be combined"),
    ])
  func refused(arguments: [String], reason: String) async throws {
    let result = try await folder.run(["sign"] + arguments)
    #expect(result.status == 64)
    #expect(result.output.isEmpty && result.errors.contains(reason), "\(result.errors)")
    #expect(!result.errors.contains(Self.secret))
  }
}
