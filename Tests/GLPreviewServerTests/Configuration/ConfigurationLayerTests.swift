// Options over the environment over files, and files over one another.
import Foundation
import GLPreview
import GLPreviewServer
import Testing

@testable import ServiceFoundation

@Suite("Configuration layers")
struct ConfigurationLayerTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  @Test("an option overrides the environment, which overrides a file, which overrides the default")
  func order() throws {
    var options = ConfigurationOptions()
    options.set(["bind"], to: "127.0.0.1:3", by: "--bind")
    let environment = [
      "GLPREVIEW_BIND": "127.0.0.1:2", "GLPREVIEW_GPU": "software", "GLPREVIEW_LIMITS_PIXELS": "",
    ]

    let configuration = try folder.load(
      "{bind: '127.0.0.1:1', gpu: 1, limits: {pixels: 5, connections: 6}}", options: options,
      environment: environment)

    #expect(configuration.bind == .host("127.0.0.1", port: 3))
    #expect(configuration.gpu == .software)
    #expect(configuration.limits.pixels == 5)
    #expect(configuration.limits.connections == 6)
    #expect(configuration.limits.adHocViews == ServiceLimits().adHocViews)
  }

  @Test("environment variables set keys of cameras, views and lists")
  func variables() throws {
    let environment = [
      "GLPREVIEW_CAMERAS_FRONT_DOOR_SOURCE": "pattern:smpte",
      "GLPREVIEW_CAMERAS_FRONT_DOOR_VIEWS_MAIN_ROTATE": "90",
      "GLPREVIEW_CAMERAS_FRONT_DOOR_MASKS": "1,2,3,4;5x6+7+8", "GLPREVIEW_ACCESS_HOSTS": "a;b",
      "GLPREVIEW_TOKEN": "t", "GLPREVIEW_USER": "ann:p:w",
    ]

    let configuration = try folder.load(
      "cameras: {front-door: {source: x, views: {main: {rotate: 180, size: 8x8}}}}", environment: environment)
    let camera = try #require(configuration.cameras.first)

    #expect(camera.source == "pattern:smpte")
    #expect(camera.views.map(\.view) == [try ViewConfiguration(parsing: "main:rotate=90,size=8x8")])
    #expect(camera.options.masks.count == 2)
    #expect(configuration.access.allowedHosts == ["a", "b"])
    #expect(configuration.access.tokens == [AccessConfiguration.Token(secret: "t", role: .control)])
    #expect(
      configuration.access.users == [AccessConfiguration.User(name: "ann", password: "p:w", role: .control)])
  }

  @Test("an error names the file position, variable or option of the invalid value")
  func origins() throws {
    var options = ConfigurationOptions()
    options.set(["gpu"], to: "slow", by: "--gpu")
    let told = try folder.problems(
      "{bind: x y, gpu: 1, limits: {pixels: x}}", options: options,
      environment: ["GLPREVIEW_LIMITS_PIXELS": "y"])
    #expect(
      told.map { $0.split(separator: ":", maxSplits: 1)[0] } == ["1", "GLPREVIEW_LIMITS_PIXELS", "--gpu"])
  }

  @Test("a later file overrides single keys, and its lists replace whole lists")
  func files() throws {
    try folder.write(
      """
      bind: 127.0.0.1:1
      access: {tokens: [{token: a, role: control}, {token: b}], hosts: [x, y]}
      cameras: {door: {source: one, views: {main: {rotate: 90, fps: 5}}}, yard: {source: two}}
      limits:
      """, to: "a.yaml")
    try folder.write(
      """
      access: {tokens: [{token: c}], hosts: [z]}
      cameras: {door: {views: {main: {fps: 7}, face: }}, hall: {source: three}}
      snapshots:
      """, to: "b.yaml")

    let configuration = try folder.loader(["a.yaml", "b.yaml"]).load()

    #expect(configuration.bind == .host("127.0.0.1", port: 1))
    #expect(configuration.access.tokens == [AccessConfiguration.Token(secret: "c", role: .read)])
    #expect(configuration.access.allowedHosts == ["z"])
    #expect(configuration.cameras.map(\.name) == ["door", "yard", "hall"])
    let views = configuration.cameras[0].views
    #expect(views.map(\.view.name) == ["main", "face"])
    #expect(views[0].framesPerSecond == 7 && views[0].view.rotation == .clockwise90)
  }

  @Test("errors of all files are reported, each with its file")
  func severalFiles() throws {
    try folder.write("bind: x y", to: "a.yaml")
    try folder.write("gpu: slow", to: "b.yaml")
    let told = folder.problems(folder.loader(["a.yaml", "b.yaml"]))
    #expect(told.map { $0.split(separator: ": ")[0] } == ["a.yaml:1:7", "b.yaml:1:6"])
    try folder.write("a: [", to: "c.yaml")
    #expect(folder.problems(folder.loader(["c.yaml", "gone.yaml"])).count == 2)
  }

  @Test("loading again reads the current content of the files")
  func reload() throws {
    try folder.write("cameras: {a: {source: one}}")
    let loader = folder.loader()
    #expect(try loader.load().cameras.map(\.name) == ["a"])
    try folder.write("cameras: {a: {source: one}, b: {source: two}}")
    #expect(try loader.load().cameras.map(\.name) == ["a", "b"])
    try folder.write("cameras: {")
    #expect(throws: ConfigurationError.self) { try loader.load() }
  }

  @Test("a source on the command line comes first, with its views")
  func source() throws {
    var options = ConfigurationOptions()
    options.setSource("pattern:smpte")
    options.addView("main:w=320,fps=4")
    options.addView("face:crop=1,2,3,4,quality=50,locked=true")
    options.setForViews("quality", to: "70", by: "--quality")

    let configuration = try folder.load("cameras: {door: {source: x}}", options: options)

    #expect(configuration.cameras.map(\.name) == ["camera", "door"])
    var main = ServedView(try ViewConfiguration(parsing: "main:width=320"))
    (main.framesPerSecond, main.quality) = (4, 70)
    var face = ServedView(try ViewConfiguration(parsing: "face:crop=3x4+1+2"))
    (face.quality, face.isLocked) = (50, true)
    #expect(configuration.cameras[0].views == [main, face])
  }

  @Test("`--quality` applies to the default view `main`")
  func mainView() throws {
    var options = ConfigurationOptions()
    options.setSource("pattern:smpte")
    options.setForViews("quality", to: "70", by: "--quality")
    let views = try ConfigurationLoader(.all, options: options, environment: [:]).load().cameras[0].views
    #expect(views.map(\.quality) == [70] && views.map(\.view.name) == ["main"])
  }

  @Test(
    "an invalid `--view` is reported with the reason",
    arguments: [
      ("a:foo=1", "--view: view: unknown key 'foo'"), ("a:fps=x", "--view: cameras.camera.views.a.fps: 'x'"),
      ("a:crop=1x1+0+0,crop=1x1+0+0", "given twice"),
      ("a:fps=1,fps=2", "--view: fps: given twice in view 'a'"),
      ("a:size=8x8,width=8", "given twice"), ("a:rotate=x", "--view: cameras.camera.views.a.rotate: 'x'"),
      ("../a", "a name has"), ("a:", "is not KEY=VALUE"), ("", "a name has"),
    ])
  func views(text: String, told: String) throws {
    var options = ConfigurationOptions()
    options.setSource("pattern:smpte")
    options.addView(text)
    let problems = folder.problems(ConfigurationLoader(.all, options: options, environment: [:]))
    #expect(problems.contains { $0.contains(told) }, "\(problems)")
  }
}

@Suite("Listen addresses and authentication")
struct OpenDoorTests {
  private func configuration(_ bind: ListenAddress, _ change: (inout AccessConfiguration) -> Void = { _ in })
    -> ServerConfiguration
  {
    var configuration = ServerConfiguration()
    configuration.bind = bind
    change(&configuration.access)
    return configuration
  }

  private static let open: [ListenAddress] = [
    .host("0.0.0.0", port: 80), .host("::", port: 80), .host("192.168.1.2", port: 80),
    .host("127.evil.example", port: 80),
    .host("home.example", port: 80), .host("1270.0.0.1", port: 80), .host("127.0.0.1.example", port: 80),
  ]

  @Test(
    "a non-loopback address without credentials is rejected, and the error lists the remedies",
    arguments: open)
  func refused(address: ListenAddress) {
    let error = #expect(throws: ConfigurationError.self) {
      try ValidatedConfiguration(configuration(address))
    }
    for way in ["access.tokens", "GLPREVIEW_TOKEN", "access.users", "access.insecure", "--insecure"] {
      #expect(error?.description.contains(way) == true)
    }
  }

  @Test("a non-loopback address is accepted with a token, a user or insecure access", arguments: open)
  func allowed(address: ListenAddress) throws {
    _ = try ValidatedConfiguration(configuration(address) { $0.tokens = [.init(secret: "x", role: .read)] })
    _ = try ValidatedConfiguration(
      configuration(address) { $0.users = [.init(name: "a", password: "b", role: .read)] })
    _ = try ValidatedConfiguration(configuration(address) { $0.isInsecure = true })
  }

  @Test(
    "loopback addresses and Unix sockets need no credentials",
    arguments: [
      ListenAddress.host("127.0.0.1", port: 80), .host("127.9.8.7", port: 80), .host("::1", port: 80),
      .host("localhost", port: 80), .unix(path: "/run/x.sock"),
    ])
  func local(address: ListenAddress) throws { _ = try ValidatedConfiguration(configuration(address)) }

  @Test("an address without credentials is reported with its place, but not beside an invalid token")
  func file() throws {
    let folder = try ConfigurationFolder()
    let told = try folder.problems("bind: 0.0.0.0:80")
    #expect(told.count == 1 && told[0].hasPrefix("1:7: bind: 0.0.0.0:80 can be reached"))
    #expect(try folder.problems("{bind: '0.0.0.0:80', access: {tokens: [{token: 'a b'}]}}").count == 1)
    #expect(try folder.problems("bind: 0.0.0.0:80", environment: ["GLPREVIEW_TOKEN": "x"]) == [])
  }

  @Test("ValidatedConfiguration rejects repeated camera and view names and a lack of cameras")
  func names() {
    var configuration = ServerConfiguration(cameras: [.testPattern, .testPattern])
    configuration.cameras[1].views = [ServedView(), ServedView()]
    let problems = #expect(throws: ConfigurationError.self) { try ValidatedConfiguration(configuration) }?
      .problems
    #expect(problems?.map(\.key) == ["cameras.camera", "cameras.camera.views.main"])
    #expect(throws: ConfigurationError.self) { try ValidatedConfiguration(ServerConfiguration(cameras: [])) }
  }
}
