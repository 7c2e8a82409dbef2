// Pictures for another machine: each request as it is made, and what a server receives, in which order, and how often.
import AsyncHTTPClient
import GLPreview
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import Schedules
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Stores of pictures", .timeLimit(.minutes(15)))
struct PictureStoreTests {
  // MARK: - Requests

  private static func request(
    _ configuration: StoreConfiguration, _ name: String = "garden/main/latest.jpg", at time: Int = noon
  ) throws -> HTTPClientRequest {
    try StoreTarget(configuration).request([0xFF, 0xD8, 0xFF, 0xD9], as: name, at: time)
  }

  @Test(
    "a picture's URL is that of the store, without the scheme's own port, and the encoded name",
    arguments: [
      (
        "https://web.example/cams", "garden/main/latest.jpg",
        "https://web.example/cams/garden/main/latest.jpg"
      ),
      ("http://web.example", "a/b/c.jpg", "http://web.example/a/b/c.jpg"),
      ("http://web.example:80/x/y", "a/b.jpg", "http://web.example/x/y/a/b.jpg"),
      ("https://web.example:443/x", "a/b.jpg", "https://web.example/x/a/b.jpg"),
      ("http://web.example:443/x", "a/b.jpg", "http://web.example:443/x/a/b.jpg"),
      ("https://web.example:80/x", "a/b.jpg", "https://web.example:80/x/a/b.jpg"),
      ("http://web.example:8080/x", "a/b.jpg", "http://web.example:8080/x/a/b.jpg"),
      ("http://[::1]:9000/x", "a/b.jpg", "http://[::1]:9000/x/a/b.jpg"),
      ("http://[fe80::80]/x", "a/b.jpg", "http://[fe80::80]/x/a/b.jpg"),
      ("http://web.example/a%20b", "c d/ä+:.jpg", "http://web.example/a%20b/c%20d/%C3%A4%2B%3A.jpg"),
    ])
  func urls(url: String, name: String, expected: String) throws {
    for configuration in [Self.put(url), Self.s3(url)] {
      let request = try Self.request(configuration, name)
      #expect(request.url == expected && request.method == .PUT)
      #expect(
        request.headers["Content-Type"] == ["image/jpeg"] && request.headers["User-Agent"] == ["glpreview"])
    }
  }

  @Test("PUT has a bearer token, or a user and a password, or neither")
  func credentials() throws {
    var configuration = Self.put("https://web.example/cams")
    let field = { (configuration: StoreConfiguration) in
      try Self.request(configuration).headers["Authorization"]
    }
    #expect(try field(configuration) == ["Bearer 5ECRETtoken"])
    (configuration.token, configuration.user, configuration.password) = (nil, "Aladdin", "open sesame")
    // The example of RFC 7617.
    #expect(try field(configuration) == ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="])
    (configuration.user, configuration.password) = (nil, nil)
    #expect(try field(configuration) == [])
  }

  @Test(
    "S3 has a signature of the host as it is sent, of the time, and of the configured region or the host's",
    arguments: [
      ("https://s3.eu-central-1.amazonaws.com/b", nil, "s3.eu-central-1.amazonaws.com", "eu-central-1"),
      ("https://s3.eu-central-1.amazonaws.com:443/b", nil, "s3.eu-central-1.amazonaws.com", "eu-central-1"),
      ("https://s3.eu-central-1.amazonaws.com/b", "eu-west-1", "s3.eu-central-1.amazonaws.com", "eu-west-1"),
      ("http://minio.example:9000/b/cams", nil, "minio.example:9000", "us-east-1"),
      ("https://r2.example/b", "auto", "r2.example", "auto"),
    ] as [(String, String?, String, String)])
  func signatures(url: String, configured: String?, host: String, region: String) throws {
    var configuration = Self.s3(url)
    configuration.region = configured
    let headers = try Self.request(configuration).headers
    let key = S3Signature(accessKey: "AKIAEXAMPLE", secretKey: "5ECRETkey/+", region: region)
    let path = url.hasSuffix("cams") ? "/b/cams" : "/b"
    let expected = try key.fields(
      of: "PUT", host: host, path: path + "/garden/main/latest.jpg", payload: [0xFF, 0xD8, 0xFF, 0xD9],
      others: [(name: "Content-Type", value: "image/jpeg")], at: Self.noon)
    for field in expected { #expect(headers[field.name] == [field.value]) }
    let authorization = try #require(headers["Authorization"].first)
    #expect(
      authorization.hasPrefix(
        "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20261130/\(region)/s3/aws4_request, SignedHeaders="))
    #expect(headers["x-amz-date"] == ["20261130T120000Z"] && headers["Host"] == [])
    #expect(!headers.contains { $0.value.contains(Self.secret) })
  }

  @Test("each attempt is signed with its own time")
  func times() throws {
    let configuration = Self.s3("https://h/b")
    let first = try Self.request(configuration).headers["Authorization"]
    #expect(try Self.request(configuration).headers["Authorization"] == first)
    #expect(try Self.request(configuration, at: Self.noon + 1).headers["Authorization"] != first)
  }

  // MARK: - A server

  @Test("pictures arrive at PUT under their names, with the token, and their memory is given back")
  func arrives() async throws {
    let receiver = Receiver()
    let running = try await Self.run(at: receiver) { running in
      running.put("one", as: "garden", "main", "2026-11-30T12-00-00Z.jpg")
      running.put("two", as: "a b", "ä", "latest.jpg")
      await running.shows(#"uploads_total{store="web",result="done"} 2"#)
    }
    let all = receiver.all.sorted { $0.text < $1.text }
    #expect(all.map(\.text) == ["one", "two"])
    #expect(
      all.map(\.path) == [
        "/cams/garden/main/2026-11-30T12-00-00Z.jpg", "/cams/a%20b/%C3%A4/latest.jpg",
      ])
    for received in all {
      #expect(received.fields[.authorization] == "Bearer 5ECRETtoken")
      #expect(received.fields[.contentType] == "image/jpeg")
    }
    #expect(running.store.status == DeliveryQueue.Status(sent: 2))
    #expect(running.budget.reserved == 0)
  }

  @Test("pictures arrive at S3 with signatures that hold for what was sent, also in a second attempt")
  func signed() async throws {
    let receiver = Receiver([Response(status: .serviceUnavailable)])
    let running = try await Self.run(at: receiver, make: Self.s3) { running in
      running.put("one", as: "front-door", "main", "2026-11-30T12-00-00Z.jpg")
      running.put("two", as: "a b", "ä+", "latest.jpg")
      await running.shows(#"uploads_total{store="bucket",result="done"} 2"#)
    }
    #expect(receiver.all.count == 3)
    let key = S3Signature(accessKey: "AKIAEXAMPLE", secretKey: "5ECRETkey/+", region: "us-east-1")
    for received in receiver.all {
      let date = try #require(received.fields[named: "x-amz-date"])
      let digits = Array(date.filter(\.isNumber))
      try #require(digits.count == 14)
      let text = { (range: Range<Int>) in String(digits[range]) }
      let minute = seconds("\(text(0..<4))-\(text(4..<6))-\(text(6..<8)) \(text(8..<10)):\(text(10..<12))")
      let time = minute + (try #require(Int(text(12..<14))))
      #expect(received.host == "localhost:\(running.port)")
      let expected = try key.fields(
        of: "PUT", host: received.host, path: received.path, payload: received.body,
        others: [(name: "Content-Type", value: try #require(received.fields[.contentType]))], at: time)
      for field in expected { #expect(received.fields[named: field.name] == field.value) }
    }
  }

  @Test("pictures of one name arrive in their order, whatever happens to other names")
  func order() async throws {
    let answers = (0..<10).map { _ in Response(status: .tooManyRequests, headers: [.retryAfter: "0"]) }
    let receiver = Receiver(answers)
    _ = try await Self.run(at: receiver, { $0.attempts = 11 }) { running in
      for number in 100..<115 {
        for camera in ["a", "b", "c"] { running.put("\(number)", as: camera, "main", "latest.jpg") }
      }
      await running.shows(#"uploads_total{store="web",result="done"} 45"#)
    }
    #expect(receiver.all.count == 55)
    for camera in ["a", "b", "c"] {
      let texts = receiver.all.filter { $0.name == "\(camera)/main/latest.jpg" }.map(\.text)
      #expect(texts == texts.sorted() && Set(texts).count == 15)
    }
  }

  @Test("while a picture is not answered, others arrive, but not the next one of its name")
  func overtaking() async throws {
    let receiver = Receiver(holding: "slow/main/latest.jpg")
    _ = try await Self.run(at: receiver) { running in
      running.put("first", as: "slow", "main", "latest.jpg")
      running.put("second", as: "slow", "main", "latest.jpg")
      await until { receiver.names == ["slow/main/latest.jpg"] }
      for number in 0..<40 { running.put("other", as: "quick", "main", "\(number).jpg") }
      await until { receiver.names.count { $0.hasPrefix("quick/") } == 40 }
      await letOthersGoOn()
      #expect(receiver.names.count { $0.hasPrefix("slow/") } == 1)
      receiver.isReleased.update { $0 = true }
      await running.shows(#"uploads_total{store="web",result="done"} 42"#)
    }
    #expect(receiver.all.filter { $0.name.hasPrefix("slow/") }.map(\.text) == ["first", "second"])
  }

  @Test("a picture that gets 503 is sent again, and its problem is gone once it is accepted")
  func retries() async throws {
    let answers = [
      Response(status: .serviceUnavailable, headers: [.retryAfter: "0"]), Response(status: .badGateway),
    ]
    let receiver = Receiver(answers)
    let running = try await Self.run(at: receiver) { running in
      running.put("a", as: "c", "v", "1.jpg")
      await running.shows(#"uploads_total{store="web",result="done"} 1"#)
    }
    #expect(receiver.all.map(\.text) == ["a", "a", "a"] && Set(receiver.names).count == 1)
    #expect(running.metrics.text.contains(#"glpreview_upload_retries_total{store="web"} 2"#))
    #expect(running.store.status == DeliveryQueue.Status(sent: 1))
  }

  @Test("the problem of a store is known while its picture is sent again")
  func problem() async throws {
    let receiver = Receiver((0..<9).map { _ in Response(status: .serviceUnavailable) })
    let hours = RetrySchedule(first: .seconds(3600), longest: .seconds(3600))
    let running = try await Self.run(at: receiver, schedule: hours) { running in
      running.put("a", as: "c", "v", "1.jpg")
      await until { running.store.status.problem == "the server answered 503" }
      #expect(running.store.status.failed == 0)
    }
    #expect(running.metrics.text.contains(#"glpreview_upload_retries_total{store="web"} 1"#))
    // At the end it is sent once more, without another pause.
    #expect(receiver.all.count >= 2 && running.store.status.failed == 1)
  }

  @Test(
    "a picture that gets 403, 404 or a redirect is given up at once, and the log has each reason once",
    arguments: [HTTPResponse.Status.forbidden, .notFound, .found, .temporaryRedirect])
  func refused(status: HTTPResponse.Status) async throws {
    let answers = (0..<3).map { _ in Response(status: status, headers: [.location: "/elsewhere"]) }
    let receiver = Receiver(answers)
    let running = try await Self.run(at: receiver) { running in
      for text in ["a", "b", "c"] { running.put(text, as: "c", "v", "latest.jpg") }
      await running.shows(#"uploads_total{store="web",result="failed"} 3"#)
      #expect(
        running.store.status
          == DeliveryQueue.Status(failed: 3, problem: "the server answered \(status.code)"))
      running.put("d", as: "c", "v", "latest.jpg")
      await running.shows(#"uploads_total{store="web",result="done"} 1"#)
    }
    #expect(
      receiver.all.map(\.text) == ["a", "b", "c", "d"] && !receiver.all.contains { $0.path == "/elsewhere" })
    #expect(running.store.status == DeliveryQueue.Status(sent: 1, failed: 3))
    let lines = running.records.lines.filter { $0.contains("for store web") }
    #expect(lines.count == 2, "\(lines)")
    #expect(lines.first?.contains("reason=the server answered \(status.code)") == true)
    #expect(lines.last?.contains("delivered again") == true)
    #expect(!lines.contains { $0.contains("webs") }, "\(lines)")
  }

  @Test("a picture is given up after the configured attempts")
  func attempts() async throws {
    let receiver = Receiver((0..<3).map { _ in Response(status: .badGateway) })
    let running = try await Self.run(at: receiver, { $0.attempts = 3 }) { running in
      for text in ["a", "b"] { running.put(text, as: "c", "v", "latest.jpg") }
      await running.shows(#"uploads_total{store="web",result="done"} 1"#)
    }
    #expect(receiver.all.map(\.text) == ["a", "a", "a", "b"])
    #expect(running.store.status == DeliveryQueue.Status(sent: 1, failed: 1))
  }
}
