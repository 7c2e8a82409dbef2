// What is read in URLs, challenges and headers, and what is never shown of them.
import PreviewCore
import TestSupport
import Testing

@testable import CaptureHTTP
@testable import GLPreview

@Suite("HTTP URLs, credentials and headers")
struct HTTPWordsTests {
  @Test("HTTPAddress splits a URL into its parts and percent-encodes its target")
  func addresses() throws {
    let address = try HTTPAddress("HTTP://Camera.Local:8080/a b/\u{E9}?action=stream&x=%26#top")

    #expect(address.scheme == .http)
    #expect(address.host == "camera.local")
    #expect(address.port == 8080)
    #expect(address.target == "/a%20b/%C3%A9?action=stream&x=%26")
    #expect(address.hostField == "camera.local:8080")

    #expect(try HTTPAddress("https://a").url == "https://a/")
    #expect(try HTTPAddress("http://a:80/").hostField == "a")
    let six = try HTTPAddress("http://[FE80::1]:81/x")
    #expect(six.host == "fe80::1" && six.url == "http://[fe80::1]:81/x")
  }

  @Test("user and password are percent-decoded, and a password may contain an @")
  func credentials() throws {
    func credentials(_ text: String) throws -> HTTPAddress.Credentials? { try HTTPAddress(text).credentials }
    #expect(try credentials("http://a/") == nil)
    #expect(try credentials("http://u:p@a/@x") == .init(user: "u", password: "p"))
    #expect(try credentials("http://u:p@ss%3A%2F%25@a") == .init(user: "u", password: "p@ss:/%"))
    #expect(try credentials("http://u@a") == .init(user: "u", password: ""))
    #expect(try credentials("http://u:@a") == .init(user: "u", password: ""))
  }

  @Test(
    "a malformed HTTP URL is rejected",
    arguments: [
      "http:", "http:/a", "http://", "http:///x", "http://:80/", "http://a:0/", "http://a:65536/",
      "http://a:x/",
      "http://a b/", "http://\u{E9}.fr/", "http://[::1", "http://[::1]x", "http://[a]", "http://u:%zz@a/",
      "http://u:%0a@a/", "http://u:%ff@a", "http://u:p/q@a/", "ftp://a/", "a", "http://a:1:2/",
    ])
  func malformed(text: String) { #expect(throws: ParameterError.self) { try HTTPAddress(text) } }

  @Test(
    "an unencoded #, / or ? in a password is rejected with its percent-encoding",
    arguments: [
      ("u:p#ss@host/", "#"), ("u:80#@host/", "#"), ("u:p@s#s@host", "#"), ("u:p/ss@host/", "/"),
      ("u:pa?ss@host:81/x", "?"), ("u:p@:s/s@host/", "/"), ("u:99999/@host/", "/"), ("[::1]:x/@host", "/"),
    ])
  func unencodedPassword(rest: String, sign: String) {
    for scheme in ["http", "https"] {
      let error = #expect(throws: ParameterError.self) { try HTTPAddress("\(scheme)://\(rest)") }
      #expect(
        error?.description
          == "has a '\(sign)' before its '@': in a user name or password, % is written %25, / %2F, ? %3F, # %23 and @ %40"
      )
    }
  }

  @Test(
    "an @ in a path, query or fragment is accepted",
    arguments: [
      "host/x#y@z", "host/u@h", "host:80/u@h", "u:p@host:80/a@b", "host?user=a@b", "host:81?a@b", "[::1]/a@b",
      "[::1]:80/a@b", "u:p%23%2F@host/#a@b",
    ])
  func signsInPaths(rest: String) {
    #expect(throws: Never.self) { try HTTPAddress("http://\(rest)") }
    #expect(UnencodedPassword.problem(in: "rtsp://\(rest)") == nil)
  }

  @Test(
    "neither a parsed URL nor the error for a malformed one shows the password",
    arguments: [
      "http://u:secret@a:81/x", "http://u:sec/ret@a/x", "http://u:sec#ret@a/x", "http://a/?PWD=secret",
      "http:u:secret@a",
    ])
  func secrets(text: String) throws {
    do {
      let address = try HTTPAddress(text)
      #expect(!address.description.contains("sec"))
    } catch {
      #expect(!"\(error)".contains("sec"))
    }
  }

  @Test(
    "a Location header is resolved against the request's URL",
    arguments: [
      ("/y", "http://a/y"), ("y", "http://a/b/y"), ("?y", "http://a/b/c?y"),
      ("../y?z/../z", "http://a/y?z/../z"),
      ("//b/y", "http://b/y"), ("https://a/y", "https://a/y"), ("./", "http://a/b/"), ("", "http://a/b/c?x"),
      ("http://b:81", "http://b:81/"), ("/y:z", "http://a/y:z"),
    ])
  func redirections(location: String, url: String) throws {
    #expect(try HTTPAddress("http://a/b/c?x").following(location).url == url)
  }

  @Test("a redirect keeps credentials only on the same host and port, or from HTTP to HTTPS there")
  func trust() throws {
    func isCarried(_ from: String, _ to: String) throws -> Bool {
      try HTTPAddress(from).following(to).credentials != nil
    }

    #expect(try isCarried("http://u:p@a/", "/x"))
    #expect(try isCarried("http://u:p@a/", "http://a/x"))
    #expect(try isCarried("http://u:p@a/", "https://a/x"))
    #expect(try !isCarried("http://u:p@a/", "http://b/x"))
    #expect(try !isCarried("http://u:p@a/", "http://a:81/x"))
    #expect(try !isCarried("https://u:p@a/", "http://a/x"))
    #expect(try !isCarried("http://u:p@a/", "http://v:q@b/x"))
  }

  @Test("MD5 sums match the test vectors of RFC 1321")
  func md5() {
    func sum(_ text: String) -> String {
      MD5.sum(of: Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    #expect(sum("") == "d41d8cd98f00b204e9800998ecf8427e")
    #expect(sum("message digest") == "f96b697d7cb7938d525a2f31aaf161d0")
    let digits = String(repeating: "1234567890", count: 8)
    #expect(sum(digits) == "57edf4a22be3c955ac49da2e2107b67a")
    for count in 50...70 { #expect(MD5.sum(of: [UInt8](repeating: 1, count: count)).count == 16) }
  }

  private static let mufasa = HTTPAddress.Credentials(user: "Mufasa", password: "Circle of Life")

  private func field(_ challenges: [String], _ nonce: String, _ credentials: HTTPAddress.Credentials = mufasa)
    -> String?
  {
    var authorization = HTTPAuthorization(answering: HTTPChallenge.parse(challenges), credentials)
    return authorization?.field(target: "/dir/index.html", clientNonce: nonce)
  }

  @Test("Digest responses match RFC 7616 and RFC 2069, and SHA-256 is preferred to MD5")
  func digests() {
    let rest =
      "realm=\"http-auth@example.org\", qop=\"auth, auth-int\", nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
      + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
    let nonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"

    let md5 = field(["Digest \(rest), algorithm=MD5"], nonce)
    #expect(md5?.contains("response=\"8ca523f5e9506fed4657c9700eebdbec\"") == true)
    #expect(md5?.contains("nc=00000001") == true && md5?.contains("qop=auth,") == true)

    let both = field(
      ["Digest \(rest), algorithm=MD5", "Digest \(rest), algorithm=SHA-256", "Basic realm=\"x\""], nonce)
    #expect(
      both?.contains("response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\"") == true)

    let old = HTTPAddress.Credentials(user: "Mufasa", password: "CircleOfLife")
    let without = field(
      ["Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", opaque=\"5ccc\""],
      "x", old)
    #expect(without?.contains("response=\"1949323746fe6a43ef61f9606e7febea\"") == true)
    #expect(without?.contains("qop") == false && without?.contains("cnonce") == false)
  }

  @Test("digest requests are counted, and unsupported challenges are not answered")
  func authorizations() {
    var digest = HTTPAuthorization(
      answering: HTTPChallenge.parse(["Digest realm=\"a\", nonce=\"n\", qop=auth"]), Self.mufasa)
    _ = digest?.field(target: "/", clientNonce: "c")
    #expect(digest?.field(target: "/", clientNonce: "c").contains("nc=00000002") == true)

    #expect(field(["Negotiate", "Digest realm=\"a\", nonce=\"n\", algorithm=SHA-512-256"], "c") == nil)
    #expect(
      field(["Digest realm=\"a\", nonce=\"n\", qop=\"auth-int\", Basic realm=\"b\""], "c")?.hasPrefix(
        "Basic ") == true)
    #expect(field(["Basic realm=\"a, b\""], "c") == "Basic TXVmYXNhOkNpcmNsZSBvZiBMaWZl")
    #expect(field([], "c") == nil)
  }

  @Test("several challenges in one header field are parsed")
  func challenges() {
    let found = HTTPChallenge.parse([
      "Digest realm=\"a \\\"b\\\", c\", nonce=n==, stale=TRUE, Basic realm=x", "Bearer",
    ])
    #expect(found.map(\.scheme) == ["digest", "basic", "bearer"])
    #expect(found.first?.parameters == ["realm": "a \"b\", c", "nonce": "n==", "stale": "TRUE"])
    #expect(HTTPAuthorization.isStale(found))
    #expect(!HTTPAuthorization.isStale(HTTPChallenge.parse(["Digest stale=false", "Basic stale=true"])))
  }

  @Test(
    "a Content-Type maps to the kind of content",
    arguments: [
      ("multipart/x-mixed-replace;boundary=a", HTTPContent.multipart(boundary: "a")),
      ("Multipart/X-Mixed-Replace; charset=x; Boundary=\"a;b\" ", .multipart(boundary: "a;b")),
      ("multipart/x-mixed-replace", .multipart(boundary: nil)), ("image/jpeg", .picture),
      ("IMAGE/JPEG; x=y", .picture), ("video/x-motion-jpeg", .unknown), ("", .unknown),
      ("application/octet-stream", .unknown), ("text/html; charset=utf-8", .unknown), ("image/*", .picture),
      ("video/mp4", .video),
    ])
  func contentTypes(type: String, content: HTTPContent) { #expect(HTTPContent(contentType: type) == content) }

  @Test("the kind of content is detected by its first bytes")
  func sniffing() {
    func sniff(_ text: [UInt8], isEnd: Bool = false) -> HTTPContent? { HTTPContent.sniff(text, isEnd: isEnd) }
    #expect(sniff([0xFF, 0xD8]) == nil)
    #expect(sniff([0xFF, 0xD8, 0xFF]) == .pictures)
    #expect(sniff([0x0D, 0x0A, 0xFF, 0xD8, 0xFF, 0xDB]) == .pictures)
    #expect(sniff([1, 2, 0x89, 3, 0xFF]) == nil, "a picture may follow")
    #expect(sniff([1, 2, 0x89, 3, 0xFF, 0xD8, 0xFF, 0xE0]) == .pictures)
    #expect(sniff([UInt8](repeating: 1, count: PictureStart.searchLimit)) == .other("data"))
    #expect(sniff([0x0A] + TestPNG.signature) == .picture)
    #expect(sniff(Array("\r\n--x".utf8)) == .multipart(boundary: nil))
    #expect(sniff(Array("<html>\n<body>".utf8)) == .other("a page"))
    #expect(sniff(Array("no camera".utf8)) == .other("text"))
    #expect(sniff([0, 0, 0, 24] + Array("ftypisom".utf8)) == .other("a video"))
    #expect(sniff([], isEnd: true) == .other("nothing"))
    #expect(sniff([0x80], isEnd: true) == .other("data"))
  }

  @Test("a server's timestamp is used as the capture time only if it is plausible")
  func serverTimes() {
    func time(_ server: String) -> CaptureInstant {
      ServerTime.captureTime(
        ServerTime.parsed(server), received: .second(100), receivedSince1970: .seconds(1_700_000_000))
    }

    #expect(time("") == .second(100))
    #expect(time("1699999999.5") == .millisecond(99_500))
    #expect(time("1.6999999995e9") == .millisecond(99_500))
    #expect(time("1700000000.05") == .second(100))
    for wrong in ["0", "-1", "12345.6", "1700000001", "1699999900", "inf", "nan", "1e300", "1.2.3", "x"] {
      #expect(time(wrong) == .second(100), "\(wrong)")
    }
  }

  @Test("a server's timestamp keeps all digits when it is parsed and formatted")
  func serverTimeDigits() {
    for micros in stride(from: 0, to: 1_000_000, by: 997) {
      let text = "1769345678.\(String(1_000_000 + micros).dropFirst())"
      let time = ServerTime.parsed(text)
      #expect(time.map { WallTime(sinceEpoch: $0).secondsText } == text)
    }
    #expect(ServerTime.parsed("1700000000.000000001") == .seconds(1_700_000_000) + .nanoseconds(1))
    #expect(ServerTime.parsed("1700000000") == .seconds(1_700_000_000))
  }

  @Test("JPEGRun splits adjacent JPEGs and reports truncated, oversized and endless data")
  func runs() {
    let (one, two) = (markersOnly(1), markersOnly(2))
    var run = JPEGRun(pictureLimit: 4096)

    var found = run.take((one + [0, 0] + two + one.dropLast())[...], at: .second(1))
    found += run.take([0xD9], at: .second(2))

    #expect(
      found
        == [(one, 1), (two, 1), (one, 1)].map { .picture(ReceivedPicture(bytes: $0.0, time: .second($0.1))) })
    #expect(run.finish().isEmpty)
    #expect(run.take(one[..<9], at: .start).isEmpty)
    #expect(run.finish() == [.damaged("the last picture is cut short")])

    var junk = JPEGRun(pictureLimit: 4096)
    let bytes = [UInt8](repeating: 0x41, count: 1 << 16)
    #expect((0..<17).flatMap { _ in junk.take(bytes[...], at: .start) }.count == 1)
    var large = JPEGRun(pictureLimit: 100)
    let events = large.take((markersOnly(1, scan: 99) + one)[...], at: .start)
    #expect(events.first == .damaged("a picture is larger than 0 MiB"))
  }
}
