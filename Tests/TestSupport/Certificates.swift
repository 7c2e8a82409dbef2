// Certificates for tests of TLS, made on the fly.
package import Foundation
import Testing

/// Certificates that openssl makes: an authority, and what it has signed.
package struct Certificates {
  package let folder: URL
  package var authority: String { folder.appending(path: "ca.pem").path }
  package var server: String { folder.appending(path: "server.pem").path }
  package var serverKey: String { folder.appending(path: "server.key").path }
  package var client: String { folder.appending(path: "client.pem").path }
  package var clientKey: String { folder.appending(path: "client.key").path }

  package static let openssl = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// The server's is for 127.0.0.1 and localhost, the other one for another.example.
  package init(in folder: URL) async throws {
    self.folder = folder
    try await run(
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca"
    )
    for name in ["server", "client", "other"] {
      try await run(
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout \(name).key -out \(name).csr -subj /CN=\(name)"
      )
      let names = Data(
        "subjectAltName=\(name == "other" ? "DNS:another.example" : "IP:127.0.0.1,DNS:localhost")\n".utf8)
      try names.write(to: folder.appending(path: "names"))
      try await run(
        "x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out \(name).pem"
      )
    }
  }

  private func run(_ words: String) async throws {
    let openssl = try #require(Self.openssl)
    let process = try ChildProcess(
      openssl, words.split(separator: " ").map(String.init), environment: [:], in: folder.path, writingTo: nil
    )
    let status = await ChildProcess.status(of: process.id)
    try #require(status == 0, "openssl \(words)")
  }
}
