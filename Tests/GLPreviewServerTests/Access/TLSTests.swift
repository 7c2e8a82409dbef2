// Certificates and keys: what is wrong with them is said before anybody connects.
import Foundation
import NIOSSL
import Testing

@testable import ServiceCore
@testable import ServiceFoundation

@Suite("TLS")
struct TLSTests {
  private static let root =
    ProcessInfo.processInfo.environment["GLPREVIEW_ROOT"].map { URL(filePath: $0) }
    ?? URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  /// A certificate for localhost and its key, in one file; it is valid until 2126.
  private static let pair = root.appending(path: "Tests/GLPreviewTests/Fixtures/localhost.pem").path

  /// A key of P-256 (RFC 5915) that belongs to no certificate.
  private static let otherKey: String = {
    let curve: [UInt8] = [0xa0, 0x0a, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]
    let key = Data([0x30, 49, 2, 1, 1, 4, 32] + [UInt8](repeating: 1, count: 32) + curve)
    return "-----BEGIN EC PRIVATE KEY-----\n\(key.base64EncodedString())\n-----END EC PRIVATE KEY-----\n"
  }()

  /// A file that holds `text`, for as long as `body` takes.
  private static func withFile(_ text: String, _ body: (String) throws -> Void) throws {
    let file = URL.temporaryDirectory.appending(path: "glpreview-\(UUID()).pem")
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    try body(file.path)
  }

  private static func error(_ chain: String, _ key: String) -> String? {
    #expect(throws: TLSError.self) {
      try TLSSetup(TLSFiles(certificateChain: chain, privateKey: key))
    }?.description
  }

  @Test("a matching certificate and key give a minimum of TLS 1.2")
  func pair() throws {
    let setup = try TLSSetup(TLSFiles(certificateChain: Self.pair, privateKey: Self.pair))
    #expect(setup.configuration.minimumTLSVersion == .tlsv12)
    #expect(setup.warnings.isEmpty)
  }

  @Test("a missing, invalid or mismatched certificate or key throws an error with its path")
  func faults() throws {
    #expect(Self.error("/nowhere/a.pem", Self.pair) == "/nowhere/a.pem: No such file or directory")
    #expect(Self.error(Self.pair, "/nowhere/a.pem") == "/nowhere/a.pem: No such file or directory")

    try Self.withFile("hello") { file in
      #expect(Self.error(file, Self.pair)?.hasPrefix("\(file): ") == true)
      #expect(Self.error(Self.pair, file)?.hasPrefix("\(file): is not a PEM private key") == true)
    }

    try Self.withFile(Self.otherKey) { file in
      #expect(Self.error(file, Self.pair)?.hasPrefix("\(file): ") == true)
      #expect(
        Self.error(Self.pair, file)?.hasPrefix("\(file): is not the key of the certificate in ") == true)
    }
  }

  @Test("an expired or not yet valid certificate is accepted with a warning")
  func expiry() throws {
    let files = TLSFiles(certificateChain: Self.pair, privateKey: Self.pair)
    let end = 4_949_000_000
    #expect(
      try TLSSetup(files, now: end + 86400 * 365).warnings == ["\(Self.pair): the certificate has expired"])
    #expect(try TLSSetup(files, now: 0).warnings == ["\(Self.pair): the certificate is not valid yet"])
  }
}
