// Mistakes in configuration files, each with its place and its key.
import Foundation
import Testing

@testable import ServiceFoundation

@Suite("Configuration errors")
struct ConfigurationMistakeTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  @Test(
    "an invalid value is reported with its place, its key and what is accepted",
    arguments: [
      ("bind: 0.0.0.0:99999", "1:7: bind: '0.0.0.0:99999': a port is"),
      ("bind: ':80'", "1:7: bind: ':80' has no host"),
      ("bind: ::1", "1:7: bind: '::1' is not"), ("bind: 'unix:'", "names no socket"),
      ("bind: 'a b:1'", "HOST:PORT"),
      ("bind: '8080'", "127.0.0.1:8080"), ("gpu: fast", "1:6: gpu: 'fast' is not one of auto, hardware"),
      ("require-hardware: perhaps", "'perhaps' is not true or false"),
      ("limits: {connections: 0}", "1:23: limits.connections: '0' is not a whole number from 1 to 1000000"),
      ("limits: {requests-per-second: nan}", "requests-per-second: 'nan' is not a number from"),
      ("limits: {stalled-client: 0s}", "'0s' is not a time above 0"),
      ("limits: {request-bytes: 1XB}", "'1XB' is not a number of bytes"),
      ("tls: {certificate: cert.pem}", "tls.certificate: 'cert.pem': no such file"),
      ("tls: {certificate: cert.pem}", "tls.key: is missing"),
      ("tls: {certificate: '.', key: '.'}", "is a folder"),
      ("access: {tokens: [{role: read}]}", "1:19: access.tokens.0: has neither token nor token-file"),
      ("access: {tokens: [{token: a, token-file: b}]}", "are both set"),
      ("access: {tokens: [{token: 'a b'}]}", "access.tokens.0.token: a token must"),
      ("access: {tokens: [{token: a, role: admin}]}", "'admin' is not one of read, control"),
      ("access: {tokens: [{token-file: gone}]}", "access.tokens.0.token-file: no such file"),
      ("access: {users: [{password: x}]}", "access.users.0: has no name"),
      ("access: {users: [{name: 'a:b', password: x}]}", "contain a colon"),
      (
        "access: {origins: [home.example]}", "1:20: access.origins: 'home.example' is neither * nor an origin"
      ),
      ("access: {origins: ['https://a/b']}", "without a path"),
      ("access: {hosts: ['a/b']}", "nor a host name"),
      ("cameras: {a: {}}", "1:11: cameras.a: has no source"), ("cameras: {a: {source: ''}}", "is empty"),
      ("cameras: {'a b': {source: x}}", "1:11: cameras.a b: a name has 1 to 64 letters"),
      ("cameras: {a: {source: x, views: {'..': {}}}}", "cameras.a.views...: a name has"),
      (
        "cameras: {a: {source: x, views: {m: {rotate: x}}}}",
        "1:46: cameras.a.views.m.rotate: 'x' is not a rotation: use 0, 90"
      ),
      ("cameras: {a: {source: x, views: {m: {crop: 1x1}}}}", "crop: '1x1' is not a rectangle: use WxH+X+Y"),
      ("cameras: {a: {source: x, views: {m: {fps: -1}}}}", "fps: '-1' is not a number from 0.001"),
      ("cameras: {a: {source: x, views: {m: {quality: 101}}}}", "from 1 to 100"),
      (
        "cameras: {a: {source: x, views: {m: {size: 8x8, width: 8}}}}",
        "1:56: cameras.a.views.m.width: conflicts with size"
      ),
      ("cameras: {a: {source: x, offline: never}}", "'never' is not one of placeholder, last, error"),
      (
        "cameras: {a: {source: x, masks: [1x1+0+0, what]}}",
        "1:43: cameras.a.masks: 'what' is not a rectangle"
      ),
      ("cameras: {a: {source: x, reference: large}}", "cameras.a.reference: 'large' is not WxH"),
      ("cameras: {a: {source: x, controls: [gain]}}", "is not NAME=VALUE"),
      ("cameras: {a: {source: x, headers: [gain]}}", "is not 'NAME: VALUE'"),
      (
        "cameras: {a: {source: 'https://a/', certificate: '12:34'}}",
        "1:50: cameras.a.certificate: a fingerprint has 64 hexadecimal digits (SHA-256), not 4"
      ),
      (
        "cameras: {a: {source: 'https://a/', certificate: gone.pem}}", "certificate: 'gone.pem': no such file"
      ),
      ("cameras: {a: {source: 'http://a/', certificate: any}}", "certificate: only https:// and rtsps://"),
      (
        "cameras: {a: {source: 'rtsps://a/', transport: udp, certificate: system}}",
        "cameras.a.certificate: certificates are verified only over TCP"
      ),
      ("cameras: {a: {source: x, input-format: nv99}}", "'nv99' is not one of"),
      ("cameras: {a: {source: x, input-size: 10}}", "'10' is not WxH"),
      ("cameras: {a: {source: x, avatar: gone.png}}", "avatar: 'gone.png': no such file"),
      (
        "cameras: {a: {source: '-'}, b: {source: '-'}}",
        "cameras.b.source: standard input can be the source of one camera only"
      ),
      ("cameras: {a: {source: x}}\nscenes: {a: {}}", "2:10: scenes.a: is a camera's name"),
      (
        "scenes: {s: {tiles: [nobody]}}",
        "1:22: scenes.s.tiles: no camera 'nobody' (known: camera)"
      ),
      ("scenes: {s: {layout: 'grid:gap=x'}}", "1:22: scenes.s.layout: gap: 'x' is not a whole number"),
      ("scenes: {s: {labels: some}}", "'some' is not one of none, names, time, all"),
      ("scenes: {s: {layout: 'spotlight:main=3'}}", "scenes.s: "),
      ("snapshots: {folder: {max-age: 1d}}", "1:21: snapshots.folder: has no path"),
      ("snapshots: {webhook: {url: ftp://x}}", "1:28: snapshots.webhook.url: is not a URL"),
      (
        "snapshots: {webhook: {url: 'http://u:p#q@x/'}}",
        "webhook.url: has a '#' before its '@': in a user name"
      ),
      ("snapshots: {webhook: {secret: x}}", "snapshots.webhook: has no url"),
      ("cameras: {a: {source: 'rtsp://u:p#q@x/'}}", "1:23: cameras.a.source: has a '#' before its '@': in a"),
      ("cameras: {a: {source: 'https://u:p/q@x/'}}", "cameras.a.source: has a '/' before its '@': in a user"),
      ("cameras: {a: {source: '${NOT_SET}'}}", "1:23: cameras.a.source: the environment variable NOT_SET is"),
      ("cameras: {a: {source: '${NOT_CLOSED'}}", "has no '}'"),
    ])
  func values(text: String, told: String) throws {
    let problems = try folder.problems(text)
    #expect(problems.contains { $0.contains(told) }, "\(problems)")
  }

  @Test(
    "an unknown key is reported with the nearest known key",
    arguments: [
      ("acess: {}", "1:1: acess: unknown key; did you mean 'access'?"),
      ("Cameras: {}", "did you mean 'cameras'?"),
      (
        "cameras: {a: {source: x, keep_warm: true}}",
        "1:26: cameras.a.keep_warm: unknown key; did you mean 'keep-warm'?"
      ),
      ("cameras: {a: {source: x, views: {m: {rotation: 90}}}}", "did you mean 'rotate'?"),
      ("zzzzzzzzz: 1", "zzzzzzzzz: unknown key (known: bind, public-url, tls"),
      ("<<: {a: 1}", "<<: unknown key"),
    ])
  func unknownKeys(text: String, told: String) throws {
    let problems = try folder.problems(text)
    #expect(problems.count == 1 && problems[0].contains(told), "\(problems)")
  }

  @Test(
    "a value of the wrong kind or an empty section is reported",
    arguments: [
      ("bind: [a]", "1:7: bind: must be a single value, not a list"),
      ("cameras: [a]", "1:10: cameras: must be a mapping"),
      ("cameras: {a: pattern}", "1:14: cameras.a: must be a mapping"),
      ("- a", "1:1: a configuration must be"),
      ("word", "a configuration must be a mapping"),
      ("access: {tokens: {token: x}}", "access.tokens: must be a list"),
      ("cameras: {a: {source: x, masks: {b: c}}}", "masks: must be a list of values"),
      ("cameras: {a: {source: x, masks: [[b]]}}", "this item is a list"),
      ("scenes: {s: {tiles: [camera: [a]]}}", "scenes.s.tiles.camera: must be a single value"),
      (
        "cameras: {a: {source: x, views: {m: {background: #203040\n}}}}", "quote a value that begins with '#'"
      ),
      ("bind:", "bind: has no value"), ("cameras: {a: {source: x, replay: }}", "replay: has no value"),
      ("recordings: {}", "1:13: recordings: has no path"), ("recordings:", "recordings: has no path"),
      ("mqtt: {}", "1:7: mqtt: has no server"), ("mqtt:", "mqtt: has no server"),
      ("snapshots: {folder: {}}", "snapshots.folder: has no path"),
      ("snapshots: {webhook: }", "snapshots.webhook: has no url"),
      ("cluster: {nats: {}}", "cluster.nats: has no servers"),
      ("rtsp: {}", "1:7: rtsp: is empty, which has no effect; set one of listen"),
      ("rtsp:", "rtsp: is empty"),
      ("cluster: {}", "set one of name, peers, slots, url, nats.servers"), ("cluster:", "cluster: is empty"),
      (
        "cameras: {a: {source: x, record: {}}}",
        "record: is empty, which has no effect; set one of when, view"
      ),
      ("cameras: {a: {source: x, record: }}", "cameras.a.record: is empty"),
    ])
  func kinds(text: String, told: String) throws {
    let problems = try folder.problems(text)
    #expect(problems.count == 1 && problems[0].contains(told), "\(problems)")
  }

  @Test(
    "invalid or unsupported YAML is reported with its place",
    arguments: [
      ("cameras:\n\ta: 1", "2:1: "), ("cameras:\n\ta: 1", "not with tabs"),
      ("cameras: {a: ", "invalid YAML"),
      ("a: 'b", "invalid YAML"), ("", "is empty"), ("# nothing\n", "is empty"),
      ("bind: a\nbind: b", "1:1: duplicate key 'bind'"),
      ("cameras: {a: {source: x}, a: {source: y}}", "1:11: duplicate key 'a'"),
      ("a: b: c", "1:5: invalid YAML"),
      ("bind: a\n---\nbind: b", "another document"), ("bind: !env X", "1:7: the tag !env"),
      (
        "cameras: !!python/object:os.system {a: {source: x}}",
        "the tag tag:yaml.org,2002:python/object:os.system"
      ),
      ("bind: !!str x", "1:7: the tag"), ("cameras: {a: {masks: !!seq [x], source: x}}", "the tag"),
      ("{a: b}: c", "a key must be a scalar"),
      ("bind: \u{1}", "invalid YAML"), ("bind: @x", "invalid YAML"),
    ])
  func syntax(text: String, told: String) throws {
    let problems = try folder.problems(text)
    #expect(problems.count == 1 && problems[0].contains(told), "\(problems)")
  }

  @Test(
    "anchors and aliases are rejected before they are expanded",
    arguments: [
      ("bind: &b x", "1:7: "), ("a: 'x'\nb: *a", "2:4: "), ("cameras: [*a]", "1:11: "),
      ("? *a\n: b", "1:3: "), ("bind: !!str &b x", "1:7: "),
      ("a: &x\n  b: c", "1:4: "), ("a: \"\\\\\"\nb: *c", "2:4: "),
      ("a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n? [*b,*b]\n: *b", "1:4: "),
    ])
  func aliases(text: String, place: String) throws {
    let problems = try folder.problems(text)
    #expect(
      problems.count == 1 && problems[0].hasPrefix(place) && problems[0].contains("aliases"), "\(problems)")
  }

  @Test("a bomb of nested YAML aliases is rejected before it is expanded")
  func aliasBomb() throws {
    // The quote in a block of text once hid all that follows it.
    var text = "x: |\n  '\na0: &a0 [x]\n"
    for level in 1...8 {
      text +=
        "a\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ","))]\n"
    }
    let problems = try folder.problems(text + "? [*a8,*a8]\n: b\n")
    #expect(
      problems.count == 1 && problems[0].hasPrefix("3:5: ") && problems[0].contains("aliases"), "\(problems)")
  }

  @Test("`*` and `&` in a block scalar are plain text")
  func blocks() throws {
    let text = "cameras:\n  a:\n    source: |-\n      exec:cat\n      *a &b\n"
    #expect(try folder.problems(text).isEmpty)
  }

  @Test("all errors of a file are reported at once, each once")
  func all() throws {
    let problems = try folder.problems(
      """
      bind: 0.0.0.0:80
      gpu: fast
      colour: red
      cameras:
        a:
          source: x
          views:
            face: {rotate: x, mode: zoom}
      scenes: {s: {tiles: [b]}}
      """)
    let places = problems.map { $0.split(separator: ": ", maxSplits: 1)[0] }

    #expect(places.sorted() == ["1:7", "2:6", "3:1", "8:22", "8:31", "9:22"])
  }

  @Test("a file truncated anywhere loads or reports errors with a place")
  func cut() throws {
    let whole = try String(contentsOf: Self.example, encoding: .utf8)
    for count in stride(from: 0, to: whole.utf8.count, by: 61) {
      let text = String(decoding: whole.utf8.prefix(count), as: UTF8.self)
      for problem in try folder.problems(text) {
        #expect(problem.contains(#/^(\d+:\d+|glpreview\.yaml): /#), "\(count): \(problem)")
      }
    }
  }

  @Test("deeply nested YAML and text that is not UTF-8 are reported as errors")
  func hostile() throws {
    for text in [
      String(repeating: "[", count: 100_000), String(repeating: "{a: ", count: 50_000),
      String(repeating: "- ", count: 50_000), "a: " + String(repeating: "\"", count: 3),
      String(repeating: "\n", count: 1000) + "%", "\u{FEFF}bind: [", String(repeating: "? ", count: 10_000),
    ] { #expect(try !folder.problems(text).isEmpty) }
    let deep = "a: " + String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
    #expect(try folder.problems(deep) == ["1:68: is nested more than 64 levels deep"])
    try Data([0xFF, 0xFE, 0x00]).write(to: URL(filePath: "\(folder.path)/glpreview.yaml"))
    #expect(folder.problems(folder.loader()) == ["glpreview.yaml: is not UTF-8"])
  }

  @Test("a file that is too large, missing or a folder is reported by name")
  func files() throws {
    #expect(
      try folder.problems(String(repeating: "#", count: ConfigurationLoader.largestFile + 1))
        == ["glpreview.yaml: has more than 1048576 bytes"])
    #expect(
      folder.problems(folder.loader(["gone.yaml", "."])) == ["gone.yaml: no such file", ".: is a folder"])
  }

  @Test(
    "error messages contain no secrets",
    arguments: ["access: {tokens: [{token: 'se cret'}]}", "user: secret"])
  func secrets(text: String) throws {
    #expect(try !folder.problems(text).contains { $0.contains("cret") && $0.contains("se c") })
    let told = try folder.problems(
      "{}", environment: ["GLPREVIEW_TOKEN": "se cret", "GLPREVIEW_USER": "secret"])
    #expect(
      told == [
        "GLPREVIEW_TOKEN: token: a token must be printable ASCII without spaces",
        "GLPREVIEW_USER: user: is not NAME:PASSWORD",
      ])
  }

  /// `GLPREVIEW_ROOT` is the package's folder where it is not the one that was built in.
  private static let package =
    (ProcessInfo.processInfo.environment["GLPREVIEW_ROOT"].map { URL(filePath: $0) }
      ?? URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent())

  private static let example = package.appending(path: "Examples/glpreview.yaml")

  @Test("packaging/glpreview.yaml is valid, also with all its comments enabled")
  func installedFile() throws {
    let path = Self.package.appending(path: "packaging/glpreview.yaml")
    let text = try String(contentsOf: path, encoding: .utf8)
    #expect(try folder.load(text).bind == .loopback)
    let whole = text.replacing("    source: pattern:counter,size=1280x720,fps=30\n", with: "")
      .replacing(/\n( +)#([a-z])/) { "\n\($0.1)\($0.2)" }
    let configuration = try folder.load(whole)
    #expect(configuration.cameras.map(\.source) == ["/dev/video0"])
    #expect(configuration.snapshots.folder?.maximumAge == .seconds(604_800))
  }

  @Test("Examples/glpreview.yaml is valid and requires credentials")
  func exampleFile() throws {
    let text = try String(contentsOf: Self.example, encoding: .utf8)
    // Its certificates and secrets are somebody else's files.
    for name in ["cert.pem", "key.pem", "token", "webhook-secret", "away.png"] {
      try folder.write("x", to: name)
    }
    let configuration = try folder.load(text, environment: ["CAMERA_PASSWORD": "x", "ANNS_PASSWORD": "y"])
    #expect(configuration.cameras.count >= 2 && configuration.scenes.count == 1)
    #expect(configuration.access.asksForCredentials)
  }
}
