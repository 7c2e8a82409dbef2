// A whole service creates signed links, opens them, and ends their streams.
import AsyncHTTPClient
import FoundationEssentials
import GLPreview
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Links at a service", .timeLimit(.minutes(15)))
struct LinkServiceTests {
  private static let reader = [("Authorization", "Bearer look")]
  private static let controller = [("Authorization", "Bearer change")]

  private static func key(_ name: String, _ change: (inout LinkKey) -> Void = { _ in }) -> LinkKey {
    var key = LinkKey(name: name, secret: "\(name) 0123456789abcdef0123456789abcdef")
    change(&key)
    return key
  }

  private static func configuration(
    _ change: (inout ServerConfiguration) -> Void = { _ in }
  ) -> ServerConfiguration {
    var locked = ServedView(ViewConfiguration(name: "locked", width: 32, height: 24))
    locked.isLocked = true
    var off = ServedView(ViewConfiguration(name: "off"))
    off.isEnabled = false
    let source = "pattern:counter,size=64x48,fps=20"
    let door = CameraConfiguration(name: "door", source: source, views: [ServedView(), locked, off])
    let yard = CameraConfiguration(name: "yard", source: source)
    var configuration = ServerConfiguration(cameras: [door, yard])
    configuration.access.tokens = [
      .init(secret: "look", role: .read), .init(secret: "change", role: .control),
    ]
    configuration.access.linkKeys = [
      key("mail") { $0.cameras = ["door"] }, key("all") { $0.allowsForever = true },
    ]
    change(&configuration)
    return configuration
  }

  private struct Link: Decodable {
    let url: String
    let key: String
    let expires: String?
  }

  private static func link(
    _ service: RunningService, _ path: String, _ more: String = #""for":"1h""#
  ) async throws -> Link {
    let answer = try await service.send(
      "POST", "/api/links", controller, body: #"{"path":"\#(path)",\#(more)}"#)
    try #require(answer.status == 200, "\(answer.text)")
    return try answer.json(Link.self)
  }

  @Test("a link shows its picture without credentials, and nothing else")
  func opens() async throws {
    try await withService(Self.configuration()) { service in
      let link = try await Self.link(service, "/cameras/door/main.jpg?width=32")
      #expect(
        link.key == "mail" && link.expires != nil
          && link.url.hasPrefix("/cameras/door/main.jpg?width=32&expires="))
      let answer = try await service.get(link.url)
      #expect(answer.status == 200 && answer.headers["X-View-Size"] == ["32x24"])
      #expect(answer.headers["Referrer-Policy"] == ["no-referrer"])
      #expect(try await service.send("HEAD", link.url).status == 200)
      // A cache buster is a change, too, although the picture would be the same.
      for change in ["&_=1", "&1595805826022", "&height=24", "&token=look", "&sign=x"] {
        let changed = try await service.get(link.url + change)
        #expect(changed.status == 403, "\(change)")
        #expect(changed.headers["WWW-Authenticate"].isEmpty && !changed.text.contains("sign="))
      }
      // Neither do other credentials open what a wrong link does not.
      #expect(try await service.get(link.url + "&a=1", Self.controller).status == 403)
      #expect(try await service.get(link.url, [("Authorization", "Bearer wrong")]).status == 200)

      let query = link.url.drop { $0 != "?" }
      for path in [
        "/cameras/door/main.png", "/cameras/yard/main.jpg", "/api/cameras", "/api/events", "/api/stream",
        "/metrics",
        "/recordings/a/b.mp4", "/snapshot", "/", "/api/nothing",
      ] { #expect(try await service.get(path + query).status == 403, "\(path)") }
      for (method, path) in [
        ("POST", "/api/cameras/door/snapshots"), ("PATCH", "/api/cameras/door/views/main"),
      ] {
        #expect(try await service.send(method, path + query, body: "{}").status == 403, "\(path)")
      }
      let metrics = try await service.get("/metrics", Self.reader).text
      #expect(metrics.contains(#"glpreview_link_requests_total{key="mail",result="accepted"} 3"#))
      #expect(metrics.contains(#"glpreview_link_requests_total{key="mail",result="wrong"}"#))
    }
  }

  @Test("only the role control creates links, to pictures that there are, by keys that sign them")
  func creates() async throws {
    try await withService(
      Self.configuration { $0.access.publicURL = PublicURL("https://cams.example.org/x/") }
    ) { service in
      for (headers, expected) in [(Self.reader, 403), ([], 401)] {
        let body = #"{"path":"/cameras/door/main.jpg"}"#
        let answer = try await service.send("POST", "/api/links", headers, body: body)
        #expect(answer.status == expected)
      }
      for (body, expected) in [
        (#"{"path":"/cameras/door/main.jpg"}"#, 200), (#"{"path":"/cameras/none/main.jpg"}"#, 404),
        (#"{"path":"/cameras/door/main.mjpeg","for":"30s","key":"all"}"#, 200),
        (#"{"path":"/cameras/yard/main.jpg","key":"mail"}"#, 400), (#"{"path":"/api/cameras"}"#, 400),
        (#"{"path":"/cameras/door/main.jpg","forever":true}"#, 200),
        (#"{"path":"/cameras/door/main.jpg","forever":true,"key":"mail"}"#, 400),
        (#"{"path":"/cameras/door/main.jpg","forever":true,"for":"1h"}"#, 400),
        (#"{"path":"/cameras/door/main.jpg","for":"0s"}"#, 400),
        (#"{"path":"/cameras/door/main.jpg","for":-1}"#, 400),
        (#"{"path":"/cameras/door/main.jpg?sign=x"}"#, 400),
        (#"{"path":"/cameras/door/main.jpg","fore":"1h"}"#, 400),
        (#"{"path":"/api/cameras/door/motion/1.jpg"}"#, 400),
        (#"{"path":"/api/cameras/door/motion/1.jpg?since=1"}"#, 200),
        (#"{"path":"/recordings/door/1.mp4"}"#, 400), ("[]", 400), ("{}", 400), (#"{"path":1}"#, 400),
      ] {
        let answer = try await service.send("POST", "/api/links", Self.controller, body: body)
        #expect(answer.status == expected, "\(body)")
      }

      let link = try await Self.link(service, "/cameras/door/main.jpg", #""forever":true"#)
      #expect(
        link.url.hasPrefix("https://cams.example.org/x/cameras/door/main.jpg?sign=all.")
          && link.expires == nil)
      // The public host is one that requests may name.
      let path = link.url.replacing("https://cams.example.org/x", with: "")
      #expect(try await service.get(path, [("Host", "CAMS.example.org")]).status == 200)
      #expect(try await service.get(path, [("Host", "cams.example.net")]).status == 421)

      struct Listing: Decodable {
        struct Links: Decodable {
          struct Key: Decodable {
            let name: String
            let forever: Bool
            let cameras: [String]?
          }
          let keys: [Key]
          let public_url: String?
        }
        let links: Links?
      }
      let known = try await service.get("/api/cameras", Self.controller).json(Listing.self).links
      #expect(known?.keys.map(\.name) == ["mail", "all"] && known?.keys.first?.cameras == ["door"])
      #expect(known?.public_url == "https://cams.example.org/x")
      #expect(try await service.get("/api/cameras", Self.reader).json(Listing.self).links == nil)
    }
  }

  @Test(
    "a link to a motion event's picture is refused without the event's beginning, by whomever it was signed")
  func motionNeedsBeginning() async throws {
    try await withService(Self.configuration()) { service in
      let path = "/api/cameras/door/motion/1.jpg"
      let end = Int(WallTime.now.secondsSinceEpoch) + 1000
      for (url, status) in [(path, 403), (path + "?box", 403), (path + "?since=1", 404)] {
        let link = try SignedLink.signed(url, by: Self.key("mail"), until: end)
        #expect(try await service.get(link).status == status, "\(url)")
      }
    }
  }

  @Test("locked and disabled views hold against links")
  func views() async throws {
    try await withService(Self.configuration()) { service in
      for (path, status) in [
        ("locked.jpg", 200), ("locked.jpg?width=64", 403), ("off.jpg", 409), ("none.jpg", 404),
        ("main.jpg?nonsense=1", 400),
      ] {
        let link = try await Self.link(service, "/cameras/door/\(path)")
        let answer = try await service.get(link.url)
        #expect(answer.status == status, "\(path)")
      }
    }
  }

  @Test("a stream by a link ends at the link's end", arguments: ["main.mjpeg", "main.mp4"])
  func streamEnds(file: String) async throws {
    guard hasEncoder || file == "main.mjpeg" else { return }
    try await withService(Self.configuration()) { service in
      let link = try await Self.linkThatEnded(service, "/cameras/door/\(file)")
      #expect(try await service.get(link.url).status == 403)
    }
  }

  @Test("a stream by a link ends when its key goes, changes, or no longer shows the camera", arguments: 0..<3)
  func keyGoes(way: Int) async throws {
    try await withService(Self.configuration()) { service in
      let link = try await Self.link(service, "/cameras/door/main.mjpeg")
      let other = try await Self.link(service, "/cameras/door/main.mjpeg", #""for":"1h","key":"all""#)
      let stream = try await service.openStream(link.url)
      var kept = try await service.openStream(other.url).makeAsyncIterator()
      try await service.inside.apply(
        ValidatedConfiguration(
          Self.configuration { configuration in
            switch way {
            case 0: configuration.access.linkKeys.removeFirst()
            case 1: configuration.access.linkKeys[0].secret += "0"
            default: configuration.access.linkKeys[0].cameras = ["yard"]
            }
          }))
      #expect(try await Self.outlives(stream) == false)
      #expect(try await service.get(link.url).status == 403)
      for _ in 0..<3 { #expect(try await kept.next() != nil) }
    }
  }

  /// Reads a stream by a short link until the link cuts it off; the link is longer where a starved machine has not begun
  /// to send before it ended.
  private static func linkThatEnded(_ service: RunningService, _ path: String) async throws -> Link {
    for seconds in [3, 20, 100] {
      let link = try await link(service, path, #""for":"\#(seconds)s""#)
      let answer = try await HTTPClient.patient.execute(
        HTTPClientRequest(url: service.base + link.url), timeout: .hours(1))
      guard answer.status == .ok else { continue }
      var count = 0
      do {
        for try await part in answer.body { count += part.readableBytes }
        Issue.record("a stream by a link ended in good order")
      } catch  where count == 0 { continue } catch {}
      return link
    }
    throw CancellationError()
  }

  /// Reads a playlist by a link and its newest segment, whose URIs it returns; again where a slow test has lost its place.
  private static func segment(_ service: RunningService, _ link: Link) async throws -> [String] {
    while true {
      let answer = try await service.get(link.url)
      let segment = try #require(try MediaPlaylist(answer.text).segments.last)
      let uris = [segment.map, segment.uri]
      var statuses: [Int] = []
      for uri in uris { statuses.append(try await service.get("/cameras/door/\(uri)").status) }
      guard statuses.contains(404) else {
        #expect(statuses == [200, 200])
        return uris
      }
    }
  }

  /// Reads a stream until it ends; returns whether it ended in good order, as no revoked answer does.
  private static func outlives(_ body: HTTPClientResponse.Body) async throws -> Bool {
    var count = 0
    do {
      for try await part in body { count += part.readableBytes }
      return true
    } catch {
      #expect(count > 0, "nothing came before the end")
      return false
    }
  }

  @Test(
    "an HLS playlist by a link has signed segments",
    .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"))
  func playlists() async throws {
    try await withService(Self.configuration()) { service in
      let link = try await Self.link(service, "/cameras/door/main.m3u8?width=64")
      for uri in try await Self.segment(service, link) {
        #expect(uri.contains("width=64") && uri.contains("expires=") && uri.contains("&sign=mail."))
        let changed = uri.replacing("width=64", with: "width=32")
        #expect(try await service.get("/cameras/door/\(changed)").status == 403)
      }
    }
  }

  @Test("no log line contains a signature")
  func log() async throws {
    let records = LogRecords()
    var logger = records.logger
    logger.logLevel = .trace
    try await withService(Self.configuration(), logger: logger) { service in
      let link = try await Self.link(service, "/cameras/door/main.jpg")
      _ = try await service.get(link.url)
      _ = try await service.get(link.url + "&a=1")
      _ = try await service.get(link.url.replacing("/cameras/door", with: "/cameras/yard"))
      for path in [link.url, "/cameras/door/main.jpg?token=mail.secret&a=%"] {
        let body = #"{"path":"\#(path)"}"#
        #expect(try await service.send("POST", "/api/links", Self.controller, body: body).status == 400)
      }
    }
    #expect(records.lines.contains { $0.hasPrefix("link created: ") })
    #expect(records.lines.count { $0.hasPrefix("wrong credentials: ") && $0.contains("sign=***") } == 2)
    #expect(!records.lines.contains { $0.contains("sign=mail") || $0.contains("mail.") })
  }

  @Test("limits.requests-per-second holds for all links of a key, and a quarter of it for each client")
  func rate() async throws {
    var access = AccessConfiguration()
    access.linkKeys = [Self.key("mail"), Self.key("all")]
    let router = Router(context: ServiceContext.self)
    let routes = ServiceRoutes(router)
    let limits = LinkLimits(requestsPerSecond: 4, now: { .start })
    let metrics = ServiceMetrics()
    router.add(
      middleware: AccessMiddleware(control: AccessControl(access), metrics: metrics, limits: limits))
    routes.get("cameras/:camera/:file", .pictures, as: []) { _, _ in Response(status: .ok) }
    try await withServer(of: router) { server in
      let end = Int(WallTime.now.secondsSinceEpoch) + 1000
      for name in ["mail", "all"] {
        let link = try SignedLink.signed("/cameras/door/main.jpg", by: Self.key(name), until: end)
        var statuses: [Int] = []
        for _ in 0..<3 { statuses.append(try await server.execute(uri: link, method: .get).status.code) }
        #expect(statuses == [200, 200, 429])
      }
      // Others of a busy key: of a burst of eight, six are left.
      let others = (0..<10).map { limits.secondsToWait("mail", ClientGroup("192.0.2.\($0)")) == nil }
      #expect(others.count(where: \.self) == 6)
    }
    #expect(metrics.text.contains(#"glpreview_link_requests_total{key="mail",result="limited"} 1"#))
  }

  @Test("a node accepts links to the cameras of another node, and ends their streams")
  func nodes() async throws {
    let owner = ServerConfiguration(cameras: [
      CameraConfiguration(name: "door", source: "pattern:counter,size=64x48,fps=20")
    ])
    try await withOwnerAndEdge(
      owner,
      { configuration in
        configuration.access.tokens = [.init(secret: "change", role: .control)]
        configuration.access.linkKeys = [Self.key("mail")]
      }
    ) { _, edge in
      let link = try await Self.link(edge, "/cameras/door/main.jpg?width=32")
      #expect(try await edge.get(link.url).headers["X-View-Size"] == ["32x24"])
      #expect(try await edge.get(link.url + "&a=1").status == 403)
      _ = try await Self.linkThatEnded(edge, "/cameras/door/main.mjpeg")
      guard hasEncoder else { return }
      let playlist = try await Self.link(edge, "/cameras/door/main.m3u8")
      for uri in try await Self.segment(edge, playlist) { #expect(uri.contains("&sign=mail.")) }
    }
  }

  @Test("messages have links to their pictures only with event-links; readers of the event log get none")
  func events() async throws {
    let event = MotionEpisodes.Change.started(try Self.motion())
    for hasLinks in [true, false] {
      let configuration = Self.configuration { configuration in
        configuration.access.publicURL = PublicURL("https://cams.example.org")
        configuration.access.eventLinks = hasLinks ? .seconds(3600) : nil
        // Over an hour raw frames would be thinned out, and the buffer might lack the snapshot's.
        configuration.cameras[0].replayDuration = .seconds(60)
      }
      try await withService(configuration) { service in
        var own = service.inside.events.log.own().makeAsyncIterator()
        service.inside.events.motionChanged("door", event, showsAll: true)
        let message = try #require(await own.next())
        #expect(!String(decoding: message.data, as: UTF8.self).contains("sign="))
        struct Message: Decodable {
          let picture: String
          let link: String?
        }
        let linked = try JSONDecoder().decode(Message.self, from: Data(message.linkedData))
        #expect(linked.picture == "/api/cameras/door/motion/1.jpg")
        guard hasLinks else {
          #expect(linked.link == nil)
          return
        }
        let link = try #require(linked.link)
        #expect(link.hasPrefix("https://cams.example.org/api/cameras/door/motion/1.jpg?since="))
        // The service has not seen the event, or has another one of this number.
        let path = link.replacing("https://cams.example.org", with: "")
        #expect(try await service.get(path).status == 404)

        let taken = try await service.send("POST", "/api/cameras/door/snapshots", Self.controller)
        #expect(taken.status == 200)
        var snapshot = try #require(await own.next())
        while snapshot.type != "snapshot" { snapshot = try #require(await own.next()) }
        struct Snapshot: Decodable { let link: String }
        let picture = try JSONDecoder().decode(Snapshot.self, from: Data(snapshot.linkedData)).link
        let answer = try await service.get(picture.replacing("https://cams.example.org", with: ""))
        #expect(answer.status == 200)
        #expect(picture.contains("?at=\(answer.headers["X-Timestamp"].first ?? "none")&"))
      }
    }
  }

  private static func motion() throws -> MotionEvent {
    var episodes = MotionEpisodes(MotionSettings())
    let changes = episodes.trigger("bell", at: CaptureClock.now, until: CaptureClock.now + .seconds(10))
    guard case .started(let event) = try #require(changes.first) else { throw CancellationError() }
    return event
  }

  @Test(
    "event-links without a public URL or a key, short secrets and odd names are refused",
    arguments: [
      ("access: {event-links: 1h}", "public-url"),
      ("public-url: 'http://a'\naccess: {event-links: 1h}", "link-keys"),
      ("access: {link-keys: {mail: {secret: brief}}}", "shorter than 32"),
      ("access: {link-keys: {mail: {cameras: [door]}}}", "neither secret nor secret-file"),
      ("access: {link-keys: {a.b: {secret: 0123456789abcdef0123456789abcdef}}}", "1 to 32 letters"),
      ("public-url: cams.example.org", "not a URL"),
      (
        "access: {link-keys: {mail: {secret: 0123456789abcdef0123456789abcdef, cameras: []}}}",
        "names no camera"
      ),
      (
        "access: {link-keys: {mail: {secret: 0123456789abcdef0123456789abcdef, cameras: [dor]}}}",
        "no camera or scene 'dor'"
      ),
    ])
  func refusedConfigurations(yaml: String, reason: String) throws {
    let folder = try ConfigurationFolder()
    let error = #expect(throws: ConfigurationError.self) { try folder.load(yaml) }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }
}
