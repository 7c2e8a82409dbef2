// Certificates of cameras that are served: what operators see of a refused one, and how it is accepted.
import Foundation
import GLPreview
import TestSupport
import Testing

@testable import ServiceFoundation

@Suite("Camera certificates in the service", .timeLimit(.minutes(15)))
struct CameraCertificateTests {
  private static let root =
    ProcessInfo.processInfo.environment["GLPREVIEW_ROOT"].map { URL(filePath: $0) }
    ?? URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  /// A key, and a certificate that it has signed itself, without a host, which has expired.
  private static let own =
    root.appending(path: "Tests/GLPreviewTests/Fixtures/certificates/own.pem").path
  private static let fingerprint = "b2023d4a3dd1a52535ba366792633ceb2a195a17a82f518072f4a8218f84545d"

  @Test("a rejected certificate is reported by fingerprint, and a reload that accepts it connects")
  func reload() async throws {
    var camera = StreamTests.configuration()
    camera.tls = TLSFiles(certificateChain: Self.own, privateKey: Self.own)
    try await withService(camera) { camera in
      var configuration = ServerConfiguration(cameras: [
        CameraConfiguration(source: "https://localhost:\(camera.port)/cameras/camera/main.jpg")
      ])
      configuration.cameras[0].keepsWarm = true
      let refusing = configuration
      try await withService(refusing) { service in
        try await until {
          try await service.get("/api/cameras").text.contains("SHA-256 fingerprint: \(Self.fingerprint)")
        }

        for word in [Self.fingerprint, Self.own] {
          var accepting = refusing
          accepting.cameras[0].options.certificate = try CertificateTrust(parsing: word)
          try await service.inside.apply(accepting)
          try await until { try await service.get("/api/cameras").text.contains(#""state":"live""#) }

          try await service.inside.apply(refusing)
          try await until { try await service.get("/api/cameras").text.contains(Self.fingerprint) }
        }
      }
    }
  }

  @Test("a warning about an unverified certificate is logged unless `certificate` is configured")
  func warning() async throws {
    for (certificate, isWarned) in [(nil, true), (.any, false), (.system, false)]
      as [(CertificateTrust?, Bool)]
    {
      let records = LogRecords()
      var camera = CameraConfiguration(source: "rtsps://127.0.0.1:1/live")
      camera.options.certificate = certificate
      try await withService(ServerConfiguration(cameras: [camera]), logger: records.logger) { _ in }
      #expect(records.messages.contains { $0.contains("certificate is not verified") } == isWarned)
    }
  }
}
