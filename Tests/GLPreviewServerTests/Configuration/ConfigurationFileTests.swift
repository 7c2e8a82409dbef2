// Configuration files that make sense.
import Foundation
import GLPreview
import GLPreviewServer
import RTSP
import Recordings
import Testing

@testable import ServiceFoundation

@Suite("Configuration files")
struct ConfigurationFileTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  @Test("without a file the configuration is the test pattern on 127.0.0.1:8080")
  func nothing() throws {
    let configuration = try ConfigurationLoader(.all, environment: [:]).load()
    #expect(configuration.configuration == ServerConfiguration())
    #expect(configuration.cameras == [.testPattern])
    #expect(configuration.bind == .host("127.0.0.1", port: 8080))
  }

  @Test(
    "`motion` is on if true, empty or a mapping, and off if false or absent",
    arguments: [
      ("", false), ("motion: true", true), ("motion: false", false), ("motion:", true), ("motion: {}", true),
      ("motion: {rate: 5}", true),
    ])
  func motion(text: String, isOn: Bool) throws {
    let camera = try folder.load("cameras:\n  yard:\n    source: x\n    \(text)").cameras.first
    #expect(camera?.motion == (isOn ? MotionSettings() : nil))
  }

  @Test("empty sections keep defaults and values of environment variables", arguments: ["", " {}"])
  func empty(value: String) throws {
    let anyway = ["access", "limits", "snapshots", "webrtc"].map { "\($0):\(value)" }.joined(separator: "\n")
    #expect(try folder.load(anyway).configuration == ServerConfiguration())

    let variables = ["GLPREVIEW_RTSP_LISTEN": "8554", "GLPREVIEW_RECORDINGS_PATH": "/tmp/of-tests"]
    let set = try folder.load("rtsp:\(value)\nrecordings:\(value)", environment: variables)
    #expect(set.rtsp.listen == .at(host: "127.0.0.1", port: 8554) && set.recordings?.path == "/tmp/of-tests")
  }

  @Test("a camera's source, options and views are read")
  func camera() throws {
    let camera = try #require(
      folder.load(
        """
        cameras:
          door:
            source: rtsp://camera/1
            transport: tcp
            input-format: nv12
            input-size: 640x480
            matrix: bt709
            range: full
            controls: {exposure_auto: 1, gain: 5}
            headers: ["Authorization: Bearer x"]
            masks: [100x50+10+20, "0,0 10,0 0,10:pixelate=8"]
            reference: 1280x720
            timeout: 500ms
            keep-warm: yes
            required: no
            offline: last
            views:
              main: {size: 1280x720}
              face: {crop: 400x400+10+20, rotate: 90, fps: 4.5, quality: 70, locked: true, enabled: off}
        """
      ).cameras.first)

    #expect(camera.name == "door")
    #expect(camera.source == "rtsp://camera/1")
    #expect(camera.options.streamTransport == .tcp)
    #expect(camera.options.inputFormat == .nv12)
    #expect(camera.options.inputSize == Size(width: 640, height: 480))
    #expect(camera.options.color == ColorDescription.Override(matrix: .bt709, range: .full))
    #expect(
      camera.options.controls == [
        CameraControl.Setting(name: "exposure_auto", value: "1"),
        CameraControl.Setting(name: "gain", value: "5"),
      ])
    #expect(camera.options.headers == [SourceOptions.HeaderField(name: "Authorization", value: "Bearer x")])
    #expect(camera.options.referenceSize == Size(width: 1280, height: 720))
    #expect(
      camera.options.masks.map(\.description) == [
        "100x50+10+20:fill=#000000", "0,0 10,0 0,10:pixelate=8",
      ])
    #expect(camera.options.live.connectsWithin == .milliseconds(500))
    #expect(camera.options.live.stallsAfter == .milliseconds(500))
    #expect(camera.keepsWarm && !camera.isRequired)
    #expect(camera.offline == .lastFrame)
    var face = ServedView(try ViewConfiguration(parsing: "face:crop=400x400+10+20,rotate=90"))
    (face.framesPerSecond, face.quality, face.isLocked, face.isEnabled) = (4.5, 70, true, false)
    #expect(camera.views == [ServedView(try ViewConfiguration(parsing: "main:size=1280x720")), face])
  }

  @Test("cameras keep their order, and a camera without views gets the view `main`")
  func order() throws {
    let configuration = try folder.load(
      "cameras: {zoo: {source: 'pattern:smpte'}, ant: {source: 'pattern:counter'}, mid: {source: 'pattern:smpte'}}"
    )
    #expect(configuration.cameras.map(\.name) == ["zoo", "ant", "mid"])
    #expect(configuration.cameras.allSatisfy { $0.views == [ServedView()] })
  }

  @Test("a camera's `decode` is that of its views, unless they have their own")
  func decode() throws {
    let camera = try #require(
      try folder.load(
        "cameras: {door: {source: 'pattern:smpte', decode: fast, views: {a: {}, b: {decode: exact}}}}"
      ).cameras.first)
    #expect(camera.views.map(\.decode) == [.fast, .exact])
  }

  @Test(
    "`size` and `fps` are set as the demand and added to the source if it supports them",
    arguments: [
      ("/dev/video0", "/dev/video0,size=640x480,fps=15.0"),
      ("/dev/video0,size=8x8", "/dev/video0,size=8x8,fps=15.0"),
      ("pattern:smpte", "pattern:smpte,size=640x480,fps=15.0"), ("http://camera/", "http://camera/"),
    ])
  func demand(source: String, words: String) throws {
    let camera = try #require(
      folder.load("cameras: {a: {source: '\(source)', size: 640x480, fps: 15}}").cameras.first)
    #expect(camera.source == words)
    #expect(
      camera.options.demand
        == SourceOptions.Demand(minimumSize: Size(width: 640, height: 480), framesPerSecond: 15))
    #expect(camera.options.framesPerSecond == 15)
  }

  @Test("pixels and bytes of a camera's picture have default limits that keys override")
  func pictureBounds() throws {
    let cameras = try folder.load(
      """
      cameras:
        a: {source: 'http://h/'}
        b: {source: 'http://h/', max-megapixels: 2.5, max-picture-bytes: 3MiB}
      """
    ).cameras

    #expect(cameras.map(\.options.maximumPixels) == [50_000_000, 2_500_000])
    #expect(cameras.map(\.options.maximumPictureBytes) == [32 << 20, 3 << 20])
  }

  @Test("a scene has the cameras that it names, or all cameras")
  func scenes() throws {
    let configuration = try folder.load(
      """
      cameras: {door: {source: 'pattern:smpte'}, yard: {source: 'pattern:smpte'}}
      scenes:
        all: {labels: all}
        grid: {layout: "grid:size=640x360,gap=8", tiles: [yard, door: "mode=fit"], fps: 10, quality: 60}
        one: {tiles: {door: "crop=10x10+0+0"}}
      """)
    let scenes = configuration.scenes

    #expect(scenes.map(\.name) == ["all", "grid", "one"])
    #expect(scenes[0].scene.tiles.map(\.source) == ["door", "yard"])
    #expect(scenes[0].scene.tiles.allSatisfy { $0.label != nil })
    #expect(scenes[0].scene.labels.count == 1)
    var grid = try Scene(parsing: "grid:size=640x360,gap=8")
    grid.tiles = [Tile("yard"), try Tile(parsing: "door:mode=fit")]
    #expect(scenes[1].scene == grid)
    #expect(scenes[1].framesPerSecond == 10 && scenes[1].quality == 60)
    #expect(scenes[2].scene.tiles == [try Tile(parsing: "door:crop=10x10+0+0")])
  }

  @Test("access, limits, TLS, the snapshot folder and the webhook are read")
  func service() throws {
    for name in ["cert.pem", "key.pem"] { try folder.write("x", to: name) }
    try folder.write("from a file\n".replacing(" ", with: "-"), to: "token")

    let configuration = try folder.load(
      """
      bind: "[::]:8443"
      tls: {certificate: cert.pem, key: key.pem}
      access:
        tokens: [{token: abc}, {token-file: token, role: control}]
        users: [{name: ann, password: "p:w", role: control}]
        origins: [https://Home.example]
        hosts: cam.example
      limits:
        connections: 10
        connections-per-client: 5
        requests-per-second: 2.5
        request-bytes: 32KiB
        pixels: 1000000
        ad-hoc-views: 3
        memory: 512MB
        stalled-client: 10s
        idle-connection: 2m
      gpu: software
      require-hardware: false
      snapshots:
        folder: {path: snaps, max-age: 7d, max-count: 100, max-bytes: 1.5GB}
        webhook: {url: https://h/x, secret: s, max-event-bytes: 5kB, attempts: 2, capacity: 3}
      """)

    #expect(configuration.bind == .host("::", port: 8443))
    #expect(
      configuration.tls
        == TLSFiles(certificateChain: "\(folder.path)/cert.pem", privateKey: "\(folder.path)/key.pem"))
    #expect(
      configuration.access.tokens == [
        AccessConfiguration.Token(secret: "abc", role: .read),
        AccessConfiguration.Token(secret: "from-a-file", role: .control),
      ])
    #expect(
      configuration.access.users == [AccessConfiguration.User(name: "ann", password: "p:w", role: .control)])
    #expect(configuration.access.allowedOrigins == ["https://home.example"])
    #expect(configuration.access.allowedHosts == ["cam.example"])
    var limits = ServiceLimits()
    (limits.connections, limits.connectionsPerClient, limits.requestsPerSecond) = (10, 5, 2.5)
    (limits.requestBytes, limits.pixels, limits.adHocViews) = (32768, 1_000_000, 3)
    (limits.memory, limits.stalledClient, limits.idleConnection) = (512_000_000, .seconds(10), .seconds(120))
    #expect(configuration.limits == limits)
    #expect(configuration.gpu == .software)
    var kept = FolderConfiguration(path: "\(folder.path)/snaps")
    (kept.maximumAge, kept.maximumCount, kept.maximumBytes) = (.seconds(604_800), 100, 1_500_000_000)
    #expect(configuration.snapshots.folder == kept)
    var hook = WebhookConfiguration(url: "https://h/x")
    (hook.secret, hook.maximumEventBytes, hook.attempts, hook.capacity) = ("s", 5000, 2, 3)
    #expect(configuration.snapshots.webhook == hook)
  }

  @Test("relative paths start at the file's folder, and `..` applies after symbolic links")
  func paths() throws {
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/real/deep", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/link", withDestinationPath: "\(folder.path)/real/deep")
    try folder.write("x", to: "real/face.png")

    let configuration = try folder.load(
      """
      cameras:
        a: {source: ./clips/../clip.mp4, avatar: link/../face.png}
        b: {source: /dev/v4l/by-id/usb-cam}
        c: {source: "-"}
        d: {source: "exec:cat x.jpg"}
        e: {source: "file:///no/../clip%201.mp4"}
      snapshots: {folder: {path: link/new/../snaps}}
      """)

    #expect(configuration.cameras[0].source == "\(folder.path)/clip.mp4")
    // Through the link, as the kernel does it: its `..` is `real`.
    #expect(configuration.cameras[0].avatar == "\(folder.path)/real/face.png")
    #expect(
      configuration.cameras[1...].map(\.source)
        == ["/dev/v4l/by-id/usb-cam", "-", "exec:cat x.jpg", "/clip 1.mp4"])
    #expect(configuration.snapshots.folder?.path == "\(folder.path)/real/deep/snaps")
  }

  @Test("the path of a Unix socket is relative to the file, and no token is needed")
  func socket() throws {
    #expect(try folder.load("bind: unix:run.sock").bind == .unix(path: "\(folder.path)/run.sock"))
  }

  @Test(
    "`bind` accepts host names, IPv4 and IPv6, with or without a port",
    arguments: [
      ("127.0.0.1:80", ListenAddress.host("127.0.0.1", port: 80)),
      ("localhost", .host("localhost", port: 8080)),
      ("[::1]:0", .host("::1", port: 0)), ("127.1.2.3:65535", .host("127.1.2.3", port: 65535)),
    ])
  func addresses(text: String, address: ListenAddress) throws {
    #expect(try folder.load("bind: '\(text)'").bind == address)
  }

  @Test("environment variables are substituted in values, once, with defaults and an escape")
  func variables() throws {
    let environment = ["HOST_NAME": "cam", "EMPTY": "", "NESTED": "${HOST_NAME}"]
    let configuration = try folder.load(
      """
      cameras:
        a: {source: "http://${HOST_NAME}/${PATH_PART:live:1}${EMPTY}"}
        b: {source: "exec:echo $${HOME} ${NESTED} $x"}
      """, environment: environment)

    #expect(
      configuration.cameras.map(\.source) == ["http://cam/live:1", "exec:echo ${HOME} ${HOST_NAME} $x"])
  }

  @Test("a file may start with a byte order mark and have CRLF line endings")
  func encodings() throws {
    let configuration = try folder.load("\u{FEFF}gpu: software\r\ncameras:\r\n  a: {source: x}\r\n")
    #expect(configuration.gpu == .software && configuration.cameras.map(\.name) == ["a"])
  }

  @Test("unquoted values such as 0777, 1e3 and dates stay strings")
  func words() throws {
    let configuration = try folder.load(
      "access: {tokens: [{token: 0777}, {token: 'null'}, {token: 1e3}, {token: 2026-01-01}]}")
    #expect(configuration.access.tokens.map(\.secret) == ["0777", "null", "1e3", "2026-01-01"])
  }

  @Test("`*` and `&` are plain text within values, quotes and comments")
  func asterisks() throws {
    let configuration = try folder.load(
      """
      # - *not an alias
      cameras: {a: {source: "exec:a: *b, &c"}, 'b': {source: exec:cat a*b &d, views: {main: }}} # *x
      """)
    #expect(configuration.cameras.map(\.source) == ["exec:a: *b, &c", "exec:cat a*b &d"])
  }
}
