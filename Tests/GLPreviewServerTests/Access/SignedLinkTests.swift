// The canonical form of signed links, and what is accepted of them.
import HTTPTypes
import HummingbirdCore
import TestSupport
import Testing

@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Signed links")
struct SignedLinkTests {
  private static let key = LinkKey(name: "mail", secret: "0123456789abcdef0123456789abcdef")
  private static let end = 1_764_500_000
  private static let client = ClientGroup("192.0.2.1")

  /// A service's access at a second of the wall clock.
  private static func control(
    at seconds: Double = Double(end) - 100, _ keys: [LinkKey] = [key]
  ) -> AccessControl {
    var configuration = AccessConfiguration()
    configuration.linkKeys = keys
    return AccessControl(configuration, wallClock: { WallTime(sinceEpoch: .seconds(seconds)) })
  }

  /// The status with which a link to the camera `door` is refused; nil if it is accepted.
  private static func refusal(
    of url: String, at seconds: Double = Double(end) - 100, _ keys: [LinkKey] = [key]
  ) throws -> String? {
    let link = try #require(SignedLink(url))
    do {
      _ = try control(at: seconds, keys).right(of: link, to: "door", for: client)
      return nil
    } catch {
      #expect(error.status == .forbidden)
      return error.detail
    }
  }

  @Test(
    "a signature equals the HMAC-SHA256 that Python computes over the documented canonical form",
    arguments: [
      // hmac.new(key, b"mail:/cameras/door/main.jpg?expires=1764500000&width=320", "sha256"), base64.urlsafe_b64encode
      ("/cameras/door/main.jpg?width=320", "T1Tq9g1pC3IAqMeDQYRJmebBj_TUkOM6bDavJnlG0So"),
      // ... b"mail:/cameras/door/main.jpg?crop=400x400%2B760%2B120&expires=1764500000&label=a%26b%3Dc"
      (
        "/cameras/door/main.jpg?label=a%26b%3dc&crop=400x400+760+120",
        "IB33_UJQdo_Q2No9nC8LpGk-ol2RlIZSbbrE0zM3gYQ"
      ),
    ])
  func canonicalForm(url: String, code: String) throws {
    let link = try SignedLink.signed(url, by: Self.key, until: Self.end)
    #expect(link == "\(url)&expires=1764500000&sign=mail.\(code)")
    #expect(SignedLink(link)?.isSigned(by: Self.key) == true)
  }

  @Test(
    "other ways to write the same parameters are the same link, and other parameters are not",
    arguments: [
      ("/cameras/door/main.jpg?SIGN&b=2&a=x%20y%2B&EXPIRES", true),
      ("/cameras/door/main.jpg?EXPIRES&a=x%20y+&b=2&SIGN", true),
      ("/cameras/door/main.jpg?a=%78%20y%2b&b=%32&EXPIRES&SIGN", true),
      ("/cameras/door/main.jpg?%61=x%20y+&b=2&EXPIRES&SIGN", false),
      ("/cameras/door/main.jpg?a=x+y+&b=2&EXPIRES&SIGN", false),
      ("/cameras/door/main.jpg?a=x%20y#&b=2&EXPIRES&SIGN", false),
      ("/cameras/door/main.jpg?a=x%20y+&b=2&EXPIRES&SIGN#", false),
      ("/cameras/d%6for/main.jpg?a=x%20y+&b=2&EXPIRES&SIGN", false),
      ("//cameras/door/main.jpg?a=x%20y+&b=2&EXPIRES&SIGN", false),
      ("/cameras/door/./main.jpg?a=x%20y+&b=2&EXPIRES&SIGN", false),
    ])
  func sameLink(form: String, isSame: Bool) throws {
    let link = try SignedLink.signed("/cameras/door/main.jpg?a=x%20y+&b=2", by: Self.key, until: Self.end)
    let sign = try #require(link.split(separator: "&").first { $0.hasPrefix("sign=") })
    let url = form.replacing("SIGN", with: sign).replacing("EXPIRES", with: "expires=\(Self.end)")
    #expect(try (Self.refusal(of: url) == nil) == isSame)
  }

  @Test(
    "a link ends and is signed whatever its URL ends with",
    arguments: ["", "?", "?a", "?a=", "?a=?", "?a?", "?a=b=", "??", "?a=1&b"])
  func ends(query: String) throws {
    let link = try SignedLink.signed("/cameras/door/main.jpg\(query)", by: Self.key, until: Self.end)
    #expect(try Self.refusal(of: link) == nil)
    #expect(try Self.refusal(of: link, at: Double(Self.end) + 1) != nil)
  }

  @Test("routes read the same of all URLs with the same canonical form", arguments: 1...4)
  func sameToRoutes(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var seen: [String: [String]] = [:]
    var repeated = 0
    for _ in 0..<4000 {
      let parts = [
        "a", "%61", "=", "&", "+", "%2B", "%2b", "%20", "%26", "%23", "#", "?", "b", "%", "%3D", "/",
      ]
      let text = (0..<Int.random(in: 1...6, using: &random)).map { _ in random.oneOf(parts) }.joined()
      let url = "/cameras/d/m.jpg?expires=1&\(text)"
      guard let canonical = SignedLink(url)?.canonical else { continue }
      let uri = URI(url)
      let rest = URI("/?\(SignedLink.removed(from: uri.query ?? ""))")
      let read = [uri.path] + rest.queryParameters.map { "\($0.key)=\($0.value)" }.sorted()
      repeated += seen[canonical] == nil ? 0 : 1
      #expect(seen[canonical, default: read] == read, "\(url)")
      seen[canonical] = read
    }
    #expect(repeated > 100)
  }

  @Test("a link ends with the second that it names, and needs an end unless its key allows none")
  func ends() throws {
    let link = try SignedLink.signed("/cameras/door/main.jpg", by: Self.key, until: Self.end)
    #expect(try Self.refusal(of: link, at: Double(Self.end) - 0.001) == nil)
    #expect(try Self.refusal(of: link, at: Double(Self.end)) == "this link has expired")

    let endless = try SignedLink.signed("/cameras/door/main.jpg", by: Self.key, until: nil)
    var forever = Self.key
    forever.allowsForever = true
    #expect(try Self.refusal(of: endless)?.contains("no valid end") == true)
    #expect(try Self.refusal(of: endless, [forever]) == nil)
    #expect(try Self.refusal(of: link, at: Double(Self.end), [forever]) == "this link has expired")
    // An end that is no number is no missing end.
    for end in ["", "soon", "1e9", "99999999999999999999", "0x7fffffff"] {
      let open = "/cameras/door/main.jpg?expires=\(end)"
      let canonical = try #require(SignedLink(open)?.canonical)
      let sign = try SignedLink.signature(of: canonical, by: forever)
      #expect(
        try Self.refusal(of: "\(open)&sign=\(sign)", [forever])?.contains("no valid end") == true, "\(end)")
    }
  }

  @Test("a key signs and verifies for its own cameras only, and only while it is configured")
  func keys() throws {
    let link = try SignedLink.signed("/cameras/door/main.jpg", by: Self.key, until: Self.end)
    var other = Self.key
    other.cameras = ["yard"]
    #expect(try Self.refusal(of: link, [other]) == "links by the key 'mail' may not show 'door'")
    #expect(try Self.refusal(of: link, [])?.contains("not valid") == true)
    let renamed = LinkKey(name: "post", secret: Self.key.secret)
    #expect(try Self.refusal(of: link, [renamed])?.contains("not valid") == true)
    let changed = LinkKey(name: "mail", secret: "fedcba9876543210fedcba9876543210")
    #expect(try Self.refusal(of: link, [changed])?.contains("not valid") == true)
    // Nor does another key of the same secret open it.
    let twin = LinkKey(name: "post", secret: Self.key.secret)
    #expect(
      try Self.refusal(of: link.replacing("mail.", with: "post."), [twin])?.contains("not valid") == true)
    // A new key signs while links by the old one are still valid.
    #expect(try Self.refusal(of: link, [renamed, Self.key]) == nil)

    let now = WallTime(sinceEpoch: .seconds(Self.end))
    let signer = LinkSigner([other, renamed])
    #expect(try signer.sign("/cameras/door/main.jpg", for: .seconds(1), at: now).key == "post")
    #expect(try signer.sign("/cameras/yard/main.jpg", for: .seconds(1), at: now).key == "mail")
    #expect(throws: ParameterError.self) {
      try signer.sign("/cameras/door/main.jpg", by: "mail", for: .seconds(1), at: now)
    }
    #expect(throws: ParameterError.self) {
      try signer.sign("/cameras/door/main.jpg", for: nil, at: now)
    }
  }

  @Test(
    "a URL that can't become a link is refused",
    arguments: [
      "cameras/door/main.jpg", "//door/main.jpg", "/a b", "/a#b", "/a?sign=x", "/a?%65xpires=1", "/a?b=%4",
      "/ä", "", "/a\r\nb", "/a%62", "/a?%61=1", "/a?b&&c", "/a?token=x", "/a?b=1&%54oken=x",
    ])
  func unsignable(url: String) {
    #expect(throws: ParameterError.self) {
      try SignedLink.signed(url, by: Self.key, until: Self.end)
    }
  }

  @Test("none of 2,800 changed links is accepted", arguments: 1...4)
  func changedLinks(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let urls = [
      "/cameras/door/main.jpg", "/cameras/door/main.mjpeg?width=320&rotate=90&crop=10x10+1+2",
      "/cameras/door/main.jpg?label=a%26b", "/api/cameras/door/motion/7.jpg?since=1764400000.123456",
    ]
    let links = try urls.map { try SignedLink.signed($0, by: Self.key, until: Self.end) }
    let wanted = Set(links.compactMap { SignedLink($0)?.canonical })
    var refused = 0
    while refused < 700 {
      var bytes = Array(random.oneOf(links).utf8)
      switch Int.random(in: 0..<5, using: &random) {
      case 0:
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0x21...0x7E, using: &random)
      case 1: bytes.remove(at: Int.random(in: bytes.indices, using: &random))
      case 2:
        let more = [
          "&_=1", "&1595805826022", "&t=1", "&", "&sign=mail.x", "&expires=9999999999", "?x", "&width=64",
        ]
        bytes += Array(random.oneOf(more).utf8)
      case 3:
        bytes.insert(
          UInt8.random(in: 0x21...0x7E, using: &random), at: Int.random(in: bytes.indices, using: &random))
      default:
        let (one, other) = (
          Int.random(in: bytes.indices, using: &random), Int.random(in: bytes.indices, using: &random)
        )
        bytes.swapAt(one, other)
      }
      let url = String(decoding: bytes, as: UTF8.self)
      // The same bytes, or another way to write them, are no other link. Nor is a URL of neither parameter one.
      guard let link = SignedLink(url) else { continue }
      let isSame =
        link.canonical.map(wanted.contains) == true && links.contains { SignedLink($0)?.sign == link.sign }
      guard !isSame else { continue }
      #expect(!link.isSigned(by: Self.key), "\(url)")
      refused += 1
    }
  }

  @Test("wrong signatures count as wrong passwords, and valid links are accepted nonetheless")
  func wrongSignatures() throws {
    var configuration = AccessConfiguration()
    configuration.linkKeys = [Self.key]
    configuration.users = [.init(name: "ann", password: "secret", role: .read)]
    let control = AccessControl(
      configuration, now: { .start },
      wallClock: { WallTime(sinceEpoch: .seconds(Self.end - 100)) })
    let link = try SignedLink.signed("/cameras/door/main.jpg", by: Self.key, until: Self.end)
    let wrong = try #require(SignedLink(link + "&a=1"))

    for _ in 0..<12 {
      #expect(throws: Problem.wrongLink) { try control.right(of: wrong, to: "door", for: Self.client) }
    }
    // Links of a key that is not there do not count.
    let gone = try #require(SignedLink(link.replacing("mail.", with: "gone.")))
    for _ in 0..<12 {
      #expect(throws: Problem.wrongLink) {
        try control.right(of: gone, to: "door", for: ClientGroup("192.0.2.2"))
      }
    }
    #expect(throws: Problem.self) { try control.role(for: Self.client, .user("ann", password: "secret")) }
    #expect(try control.right(of: #require(SignedLink(link)), to: "door", for: Self.client).key == Self.key)
    #expect(try control.role(for: ClientGroup("192.0.2.2"), .user("ann", password: "secret")) == .read)
  }

  @Test(
    "links lead to pictures and streams of one camera only",
    arguments: [
      ("/cameras/door/main.jpg?a=/b", "door"), ("/cameras/a.b/c.d.mjpeg", "a.b"),
      ("/cameras/door/main.M3U8", "door"),
      ("/api/cameras/door/motion/7.jpg", "door"), ("/cameras/door/main", nil),
      ("/cameras/door/main.whep", nil),
      ("/cameras/door/.jpg", nil), ("/cameras//main.jpg", nil), ("/cameras/door/main.jpg/x", nil),
      ("/api/cameras/door/motion/x.jpg", nil), ("/api/cameras/door/motion/7.png", nil),
      ("/api/cameras/door/timeline", nil), ("/api/cameras/door/main.jpg", nil),
      ("/cameras/door/motion/7.jpg", nil),
      ("/recordings/door/7.mp4", nil), ("/api/stream", nil), ("/", nil), ("", nil),
    ] as [(String, String?)])
  func linkedPaths(url: String, camera: String?) throws {
    #expect(LinkedPath(url)?.camera == camera)
    guard url.contains("motion"), let path = LinkedPath(url) else { return }
    #expect(throws: ParameterError.self) { try path.check(url) }
    try path.check(url + "?since=1")
  }

  @Test(
    "public-url is a web address without user and query; its host has no port",
    arguments: [
      ("https://cams.example.org", "https://cams.example.org", "cams.example.org"),
      ("HTTP://Cams.example.org:8080/Door/", "http://cams.example.org:8080/Door", "cams.example.org"),
      ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443", "[2001:db8::1]"),
      ("cams.example.org", nil, nil), ("ftp://cams.example.org", nil, nil), ("https://", nil, nil),
      ("https://a:b@cams.example.org", nil, nil), ("https://cams.example.org/?a=1", nil, nil),
      ("https://cams.example.org:0", nil, nil), ("https://cams example.org", nil, nil),
    ] as [(String, String?, String?)])
  func publicURL(text: String, url: String?, host: String?) {
    #expect(PublicURL(text)?.text == url)
    #expect(PublicURL(text)?.host == host)
  }
}
