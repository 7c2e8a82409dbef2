// What the service is told: its configuration, and what clients and webhooks send.
import GLPreviewServer
import HTTPTypes
import Hummingbird
import NIOCore
import PreviewCore
import Schedules

@testable import GLPreview
@testable import ServiceCore
@testable import ServiceFoundation

extension FuzzTarget {
  /// A configuration file.
  static let configuration = FuzzTarget(
    name: "configuration", longest: 2048,
    words: [
      "bind: ", "cameras:\n", "  a:\n", "    source: ", "pattern:smpte", "views:", "masks: ", "scenes:\n",
      "tiles: ",
      "access:", "tokens:", "token: ", "role: ", "control", "read", "limits:", "snapshots:", "folder:",
      "webhook:",
      "fallback:", "required: ", "- ", "? ", ": ", "{", "}", "[", "]", "&a ", "*a", "!!str", "${", "$${", "|",
      ">",
      "\"", "'", "#", "---\n", "\t", "~", "127.0.0.1:0", "unix:", "30s", "100kB", "\u{EF}\u{BB}\u{BF}",
    ],
    seeds: {
      [
        "cameras:\n  a: {source: \"pattern:smpte\"}\n",
        """
        bind: 127.0.0.1:0
        access:
          tokens:
            - {token: "${SECRET:abc}", role: read}
          users: [{name: ann, password: long-enough, role: control}]
          origins: [https://home.example]
        limits: {connections: 20, stalled-client: 30s}
        cameras:
          door:
            source: pattern:smpte,size=64x48
            masks: ["32x20+9+0:pixelate=16"]
            controls: {power_line_frequency: 1}
            keep-warm: true
            offline: last
            views:
              main: {size: 32x24}
              face: {crop: 7x7+2+0, rotate: 90, fps: 4, quality: 70, locked: true}
        scenes:
          all: {layout: "grid:size=64x48,gap=8", tiles: [door, door: "mode=fit,background=blur"], labels: all}
        snapshots:
          folder: {path: snapshots, max-age: 7d, max-bytes: 1GB}
          webhook: {url: "https://home.example/hooks", secret: abcdefgh, max-event-bytes: 100kB}
        """,
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      guard let file = MemoryFile(input) else { return }
      let environment = ["SECRET": "0123456789abcdef"]
      do throws(ConfigurationError) {
        _ = try ConfigurationLoader(.all, files: [file.path], environment: environment).load()
      } catch let refusal {
        try must(!refusal.problems.isEmpty, "it is refused for no reason")
        try must(refusal.problems.allSatisfy { !$0.reason.isEmpty }, "it is refused without a word")
      }
    })

  /// The query of a snapshot's URL.
  static let query = FuzzTarget(
    name: "query", longest: 256,
    words: SnapshotQuery.query.names.map { $0 + "=" } + [
      "&", "%", "%2B", "+", "64x48", "x,y,w,h", "binary", "base64", "dataurl", "placeholder", "last", "error",
      "yes", "no", "_=", "t=", "token=", "1e9", "nan", "-1", "w=", "h=", "q=",
    ],
    seeds: {
      [
        "size=64x48&quality=70", "crop=16x16%2B8%2B8&rotate=90&max_bytes=5000&encoding=dataurl",
        "at=-2s&width=8", "at=1700000000.123456", "max_age=0&timeout=100&offline=last&exif=no&download",
        "w=5&h=6&filter=area&_=1&t=2&1595805826022&bypassCache=1?0.5",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      let query = String(decoding: input.filter { $0 > 0x20 && $0 < 0x7F }, as: UTF8.self)
      let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/cameras/a/main.jpg?" + query)
      let asked = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
      for known in [nil, Set(SnapshotQuery.query.names)] {
        let request = QueryMiddleware.meaningful(asked, known)
        let again = QueryMiddleware.meaningful(request, known)
        try must(again.uri.query == request.uri.query, "something meaningless is left")
      }
      let request = QueryMiddleware.meaningful(asked, nil)
      guard let words = try? QueryParameters(request) else { return }
      for (isLocked, format) in [(false, EncodedPicture.Format.jpeg), (true, .png)] {
        var served = ServedView(ViewConfiguration(crop: Rectangle(x: 1, y: 2, width: 3, height: 4)))
        served.isLocked = isLocked
        let wanted = try? SnapshotQuery(
          words, of: served, as: format, offline: .error, timeout: ServiceTimeouts().snapshot)
        guard let wanted else { continue }
        try must(!isLocked || wanted.served.view == served.view, "a locked view is changed")
        try must((1...100).contains(wanted.served.quality ?? 1), "quality \(wanted.served.quality ?? 0)")
        let timeout = wanted.request.timeout
        try must(timeout > .zero && timeout <= .seconds(60), "\(timeout) to wait")
        if case .newest(let age) = wanted.request.mode { try must(age > .zero, "an age of \(age)") }
        try must((wanted.maximumBytes ?? 1) > 0, "\(wanted.maximumBytes ?? 0) bytes")
        let size = Size(width: 64, height: 48)
        _ = try? RenderPlanner(maximumPixels: ServiceLimits().pixels).size(of: wanted.served.view, in: size)
      }
    })

  /// The body of a PATCH of a view, of a POST that moves one, and of a POST of a snapshot.
  static let json = FuzzTarget(
    name: "json", longest: 512,
    words: jsonKeys.map { "\"\($0)\":" } + [
      "null", "true", "1e400", "-0", "\"\\u0000\"", "{}", "[]", "{", "}", "1e18", "\"to\":", "\"by\":",
      "\"stop\":", "\"over\":", "\"hfov\":",
    ],
    seeds: {
      [
        #"{"size": "64x48", "fps": null, "quality": 70, "enabled": false}"#,
        ##"{"crop": "16x16+8+8", "rotate": 90, "background": "#102030", "linear": true, "label": "a", "time": "%H"}"##,
        #"{"views": ["main"], "quality": 80, "max_bytes": 5000, "max_age": 0, "still": true, "settle": 3}"#,
        #"{"timeout": 100, "offline": "last"}"#, #"{"at": "-2s"}"#,
        #"{"before": "3s", "count": 6, "at": 1700000000.5}"#,
        #"{"to": {"yaw": 30, "pitch": -10, "roll": 0, "hfov": 60}, "over": "2s"}"#,
        #"{"to": "door", "over": 0.5}"#, #"{"by": {"yaw": 350, "hfov": -5}}"#, #"{"stop": true}"#,
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var served = ServedView()
      if let change = try? ViewChange(json: input), (try? change.apply(to: &served)) != nil {
        try must((1...100).contains(served.quality ?? 1), "quality \(served.quality ?? 0)")
        try must((0.01...1000).contains(served.framesPerSecond ?? 1), "\(served.framesPerSecond ?? 0) fps")
      }
      if let move = try? MoveRequest(json: input) {
        try must(move.duration >= .zero && move.duration <= .seconds(3600), "it takes \(move.duration)")
        served = ServedView(ViewConfiguration(projection: Projection(yaw: 170, hfov: 90)))
        if let pose = try? move.target(of: served, usualField: { nil }) {
          do throws(ParameterError) { try pose.check(as: .flat) } catch { throw FuzzFault("\(error)") }
        }
      }
      if let options = try? SnapshotOptions(json: input, timeout: ServiceTimeouts().snapshot) {
        try must((1...100).contains(options.quality ?? 1), "quality \(options.quality ?? 0)")
        try must((options.maximumBytes ?? 1) > 0, "\(options.maximumBytes ?? 0) bytes")
        let request = options.request(offline: .error)
        try must(request.timeout > .zero && request.timeout <= .seconds(60), "\(request.timeout) to wait")
        let buffered = options.buffered(at: CaptureClock.now, delay: .seconds(1))
        try must(buffered.count <= 20 && buffered.allSatisfy(\.isBuffered), "the moments \(buffered)")
      }
    })

  /// The field `Retry-After` of a webhook's answer.
  static let webhook = FuzzTarget(
    name: "webhook", longest: 64,
    words: ["Sun, 06 Nov 1994 08:49:37 GMT", "GMT", "Feb", "Dec", "9999", "1970", "23:59:60", "86400", "-1"],
    seeds: { ["120", "Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 2024 23:59:60 GMT", "-5"].inputs },
    body: .atOnce { (input) throws(FuzzFault) in
      let now = WallTime(sinceEpoch: .seconds(784_111_777))
      let schedule = RetrySchedule()
      let retryAfter = RetrySchedule.retryAfter(String(decoding: input, as: UTF8.self), now: now)
      if let retryAfter {
        try must(retryAfter >= .zero && retryAfter <= .seconds(86400), "it says \(retryAfter)")
      }
      for attempt in [1, 2, 30, Int.max] {
        let wait = schedule.wait(after: attempt, retryAfter: retryAfter, chance: 0.5)
        try must(wait > .zero && wait <= schedule.longest, "\(wait) after attempt \(attempt)")
      }
    })

  /// The field `Authorization` of a request, and in a second line its URL.
  static let access = FuzzTarget(
    name: "access", longest: 256,
    words: [
      "Bearer ", "Basic ", "YW5uOnNlY3JldA==", "reader", "ann:secret", "token=", "&", "?", "%74oken=", "\n",
    ],
    seeds: {
      [
        "Bearer reader\n/cameras/a/main.jpg?token=reader&w=5", "Basic YW5uOnNlY3JldA==\n/?x&%74oken=b#c",
        "bearer  reader\n/", "Digest x\n/cameras/?TOKEN",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let field = input.line()
      if let role = credentials.role(of: PresentedCredentials(authorization: field).credential, at: .now) {
        let isKnown = field.hasSuffix("reader") || field.contains("YW5uOnNlY3Jld")
        try must(isKnown, "'\(field)' may \(role)")
      }
      let url = input.line()
      let removed = URLToken.removed(from: url)
      try must(URLToken.removed(from: removed) == removed, "'\(removed)' has a token still")
      let redacted = URLToken.redacted(url)
      try must(URLToken.redacted(redacted) == redacted, "'\(redacted)' has a secret still")
      try must(URLToken.redacted(url).utf8.count <= 4 * url.utf8.count + 3, "'\(url)' grows")
    })

  /// The URL of a request by a signed link, and in a second line one to sign.
  static let link = FuzzTarget(
    name: "link", longest: 256,
    words: [
      "/cameras/a/", "main.jpg", "sign=", "expires=", "mail.", "width=320", "&", "?", "%", "%73ign=", "%2F",
      "+",
      "#", "=", "//", "\n",
    ],
    seeds: {
      [
        "/cameras/a/main.jpg?expires=2000000000&sign=mail.AAAA\n/cameras/a/main.jpg?crop=4x4+1+2",
        "/?sign=a&%73ign=b\n/cameras/%C3%A4/x%2Fy.jpg?b=%26&a=1", "/?expires\n/a?", "/%?sign=%4\n//a",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let (url, other) = (input.line(), input.line())
      if let link = SignedLink(url) {
        try must(!link.isSigned(by: linkKey), "'\(url)' is signed")
        let query = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).dropFirst()
        let rest = SignedLink.removed(from: query.first.map(String.init) ?? "")
        try must(SignedLink("/?\(rest)") == nil, "'\(rest)' is still a link")
      }
      guard let signed = try? SignedLink.signed(other, by: linkKey, until: 2_000_000_000) else { return }
      let link = SignedLink(signed)
      try must(
        link?.isSigned(by: linkKey) == true && link?.expiry == 2_000_000_000, "'\(signed)' is not signed")
      try must(SignedLink(signed + "&a=1")?.isSigned(by: linkKey) == false, "'\(signed)' takes more")
    })

  /// Times of day, a place, and a period of a schedule.
  static let schedule = FuzzTarget(
    name: "schedule", longest: 128,
    words: [
      "sunrise", "sunset", "+", "-", "30m", "1h", "12:00", "24:00", "06:00", ":", "52.52, 13.40", "90", "\n",
    ],
    seeds: {
      [
        "12:00\nsunrise+30m\n06:00\nsunset-1h30m\n52.52, 13.40\n60",
        "00:00:30\nsunset\nsunset\n24:00\n-90, 180\n7200",
        "sunrise-12h\n23:59:59\n22:00\nsunrise\n78.2, 15.6\n3599",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      var schedule = Schedule()
      let times = (0..<4).map { _ in try? DayTime(parsing: input.line()) }
      for time in times.compactMap({ $0 }) {
        try must((try? DayTime(parsing: "\(time)")) == time, "'\(time)' reads back as another")
      }
      let at = times.prefix(2).compactMap { $0 }
      let between = times.suffix(2).compactMap { $0 }
      schedule.at = Schedule.problem(at: at) == nil ? at : []
      schedule.between = Schedule.problem(between: between) == nil ? between : []
      let place = try? Place(parsing: input.line())
      if let every = Int(input.line()), Schedule.problem(every: every) == nil { schedule.every = every }
      let clock = LocalClock { $0 / 15_552_000 % 2 == 0 ? 3600 : 7200 }
      var time = 1_700_000_000
      for _ in 0..<8 {
        guard let next = schedule.next(after: time, at: place, by: clock) else { return }
        try must(next > time && next - time <= 366 * 86400, "\(next) follows \(time)")
        time = next
      }
    })

  private static let linkKey = LinkKey(name: "mail", secret: "0123456789abcdef0123456789abcdef")

  private static let jsonKeys =
    ViewConfiguration.keys + [
      "views", "max_age", "max_bytes", "still", "settle", "offline", "fps", "enabled",
    ]

  private static let credentials: Credentials = {
    var access = AccessConfiguration()
    access.tokens = [AccessConfiguration.Token(secret: "reader", role: .read)]
    access.users = [AccessConfiguration.User(name: "ann", password: "secret", role: .control)]
    return Credentials(access)
  }()
}
