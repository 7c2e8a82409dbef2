// Kinds of source: which names they take, and what they say of them.
import Testing

@testable import CaptureCore
@testable import GLPreview

@Suite("SourceKind")
struct SourceKindTests {
  @Test(
    "the text of a source determines its origin and whether it is live",
    arguments: [
      ("/dev/video0,size=64x48", .device, true), ("/dev/v4l/by-id/a", .device, true), ("-", .device, nil),
      ("http://a/", .network, true), ("HTTPS://a/", .network, true), ("rtsp://a/", .network, true),
      ("rtsps://a/", .network, true), ("rtmp://a/b", .network, true), ("rtmps://a/b", .network, true),
      ("srt://a:1", .network, true), ("udp://@239.0.0.1:1", .port, true), ("exec:cat x", .command, true),
      ("Exec:cat x", .command, true), ("pattern:smpte", .generated, false), ("Pattern:smpte", .path, false),
      ("rtsp.jpg", .path, false), ("http", .path, false), ("12:30.jpg", .path, false),
      ("ftp://a/b.jpg", .path, false), ("file://server/a.jpg", .path, false), ("/dev/zero", .path, true),
    ] as [(String, SourceKind.Origin, Bool?)])
  func origins(text: String, origin: SourceKind.Origin, isLive: Bool?) {
    let locator = SourceLocator(text)
    #expect(locator.kind.origin == origin)
    // Standard input is whatever the tests were started with.
    if let isLive { #expect(locator.isLive == isLive) }
  }

  @Test("a file URL has the kind of the path in it")
  func fileURLs() {
    #expect(SourceLocator("file:///dev/video0").kind.hasSizes)
    #expect(SessionSource("FILE://localhost/dev/video0").origin.hasSizes)
    #expect(SourceLocator("file:/a%20b.jpg").text == "/a b.jpg")
    #expect(SourceLocator("file:a.jpg").text == "file:a.jpg")
  }

  @Test(
    "the file stem of snapshots depends on the kind of source",
    arguments: [
      ("-", "stdin"), ("exec:cat x", "exec"), ("pattern:smpte,size=64x48", "smpte"), ("/dev/video0", nil),
      ("http://a/b.jpg", nil),
    ])
  func stems(text: String, stem: String?) {
    #expect(SourceLocator(text).kind.fileStem(text) == stem)
  }

  @Test("no URL scheme shows a password, even without slashes")
  func passwords() {
    let schemes = SourceKinds.all.flatMap(\.schemes)
    #expect(schemes.count > 8)
    for scheme in schemes {
      for text in ["\(scheme):user:SECRET@host/x", "\(scheme.uppercased())://user:SECRET@host/x"] {
        #expect(!SourceLocator(text).description.contains("SECRET"), "\(text)")
      }
    }
  }

  @Test("only an rtsps source without a certificate setting has a warning")
  func warnings() {
    var options = SourceOptions()
    #expect(SourceLocator("RTSPS://a/").warning(of: options)?.contains("0.3") == true)
    for text in ["rtsp://a/", "https://a/"] { #expect(SourceLocator(text).warning(of: options) == nil) }
    options.certificate = .any
    #expect(SourceLocator("rtsps://a/").warning(of: options) == nil)
  }
}
