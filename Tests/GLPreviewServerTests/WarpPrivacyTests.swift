// Cameras that differ only behind their masks are the same to every client of warped views, byte for byte.
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Privacy of warped views", .timeLimit(.minutes(15)))
struct WarpPrivacyTests {
  private static let kinds = ["rgb", "jpeg"]

  /// Two masked cameras of each kind, two without masks, a scene of each, and views of all kinds of warps.
  private static func configuration() throws -> ServerConfiguration {
    var cameras: [CameraConfiguration] = []
    var scenes: [SceneConfiguration] = []
    for (name, kind, isMasked) in [("rgb", "rgb", true), ("jpeg", "jpeg", true), ("open", "rgb", false)] {
      for twin in 1...2 {
        let still = Still(kind: kind, twin: twin)
        let words = ["main", "door:yaw=20,pitch=10,hfov=80,size=64x36", "small:size=20x"]
        let views = try words.map { ServedView(try ViewConfiguration(parsing: $0)) }
        var camera = CameraConfiguration(name: "\(name)\(twin)", source: "\(kind)\(twin)", views: views)
        camera.options.referenceSize = still.size
        camera.options.lens = Lens(.fisheye(), fov: 190)
        camera.options.masks = isMasked ? still.masks : []
        camera.decode = .fast
        cameras.append(camera)
        let tiles = try [
          "a:yaw=-20,hfov=100", "b:rotate=33.5", "c:corners=2,3 80,9 90,60 6,50",
          "d:lens=fisheye fov 170,pitch=20",
        ].map { Tile(camera.name, view: try ViewConfiguration(parsing: $0)) }
        scenes.append(
          SceneConfiguration(
            name: "wall-\(camera.name)", scene: Scene(size: Size(width: 120, height: 80), tiles: tiles)))
      }
    }
    var configuration = ServerConfiguration(cameras: cameras)
    configuration.scenes = scenes
    configuration.limits.adHocViews = 1000
    return configuration
  }

  /// The parameters of a view in a URL.
  private static func words(of view: ViewConfiguration) -> String {
    var words = [
      "size=\(view.width ?? 40)x\(view.height ?? 30)", "filter=\(view.filter.rawValue)",
      "mode=\(view.contentMode.rawValue)", "mirror=\(view.mirroring.rawValue)", "rotate=\(view.angle)",
    ]
    if let corners = view.corners { words.append("corners=\(corners)") }
    if let lens = view.lens { words.append("lens=\(lens)") }
    if let projection = view.projection {
      words += [
        "projection=\(projection.shape.rawValue)", "yaw=\(projection.yaw)", "pitch=\(projection.pitch)",
        "roll=\(projection.roll)", "hfov=\(projection.hfov ?? 90)",
      ]
    }
    return words.joined(separator: "&").replacing(" ", with: "%20")
  }

  /// Random views of cameras of one kind.
  private static func views(_ kind: String, _ count: Int, seed: UInt64) -> [ViewConfiguration] {
    var random = SeededGenerator(seed: seed)
    let size = Still(kind: kind, twin: 1).size
    var views: [ViewConfiguration] = []
    for _ in 0..<count {
      let view = ViewConfiguration(
        mirroring: random.oneOf(Mirroring.allCases), width: random.pick(8...90), height: random.pick(8...70),
        contentMode: random.oneOf(ContentMode.allCases))
      views.append(view.warped(in: size, by: &random))
    }
    return views
  }

  /// The bodies of both twins' answers.
  private static func bodies(_ paths: [String], _ service: RunningService) async throws -> [[UInt8]] {
    var bodies: [[UInt8]] = []
    for path in paths {
      let answer = try await service.get(path)
      #expect(answer.status == 200, "\(path): \(answer.text.prefix(300))")
      bodies.append(try picture(answer.bytes))
    }
    return bodies
  }

  /// A JPEG without its EXIF segment, which has the time of capture; other pictures as they are.
  private static func picture(_ bytes: [UInt8]) throws -> [UInt8] {
    guard bytes.starts(with: [0xFF, 0xD8]) else { return bytes }
    let start = try #require(bytes.indices.dropLast(4).first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xE1 })
    let end = start + 2 + Int(bytes[start + 2]) * 256 + Int(bytes[start + 3])
    return Array(bytes[..<start] + bytes[end...])
  }

  private static func twins(_ name: String, _ rest: String) -> [String] {
    (1...2).map { "/cameras/\(name)\($0)/\(rest)" }
  }

  @Test("snapshots and streams of random warps by URL are the same for cameras that differ only behind masks")
  func urls() async throws {
    try await withService(Self.configuration(), makeSource: { Still.source(of: $0, named: $1, $2) }) {
      service async throws in
      for (index, kind) in Self.kinds.enumerated() {
        for (number, view) in Self.views(kind, 12, seed: UInt64(41 + index)).enumerated() {
          let rest = "main.\(number % 2 == 0 ? "png" : "jpg")?\(Self.words(of: view))"
          let bodies = try await Self.bodies(Self.twins(kind, rest), service)
          #expect(bodies[0] == bodies[1], "\(kind) \(rest)")
        }
        for view in Self.views(kind, 4, seed: UInt64(51 + index)) {
          var parts: [[UInt8]?] = []
          for path in Self.twins(kind, "main.mjpeg?\(Self.words(of: view))") {
            parts.append(try await service.parts(path, 1).parts.first.map { try Self.picture($0.jpeg) })
          }
          #expect(parts[0] != nil && parts[0] == parts[1], "\(kind) \(view)")
        }
      }
      // Without masks they differ.
      var different = 0
      for view in Self.views("rgb", 8, seed: 61) {
        let bodies = try await Self.bodies(Self.twins("open", "main.png?\(Self.words(of: view))"), service)
        if bodies[0] != bodies[1] { different += 1 }
      }
      #expect(different >= 4)
    }
  }

  @Test("configured views, after PATCHes and moves too, and tiles of scenes are the same for such cameras")
  func configured() async throws {
    try await withService(Self.configuration(), makeSource: { Still.source(of: $0, named: $1, $2) }) {
      service async throws in
      let changes = [
        ("PATCH", "", #"{"yaw": -30, "roll": 15}"#), ("POST", "/move", #"{"to": {"yaw": 40, "hfov": 60}}"#),
        ("POST", "/move", #"{"by": {"pitch": -15}, "over": "1ms"}"#),
        ("PATCH", "", #"{"projection": "cylinder", "hfov": 200, "decode": "exact"}"#),
        ("PATCH", "", #"{"projection": null, "rotate": 12.5, "filter": "bicubic"}"#),
        ("PATCH", "", #"{"rotate": 0, "corners": "4,4 90,10 80,60 10,55"}"#),
      ]
      for kind in Self.kinds {
        for change in changes {
          for twin in 1...2 {
            let answer = try await service.send(
              change.0, "/api/cameras/\(kind)\(twin)/views/door\(change.1)", body: change.2)
            #expect(answer.status == 200, "\(change): \(answer.text)")
          }
          // Pictures during a move depend on the time.
          for twin in 1...2 {
            try await until {
              try await !service.get("/api/cameras/\(kind)\(twin)").text.contains(#""move":{"#)
            }
          }
          let bodies = try await Self.bodies(Self.twins(kind, "door.png?max_age=0"), service)
          #expect(bodies[0] == bodies[1], "\(kind) after \(change)")
        }
        let walls = try await Self.bodies((1...2).map { "/cameras/wall-\(kind)\($0)/main.png" }, service)
        #expect(walls[0] == walls[1], "\(kind)")

        var shots: [[[UInt8]]] = []
        for twin in 1...2 {
          let answer = try await service.send(
            "POST", "/api/cameras/\(kind)\(twin)/snapshots", [("Accept", "multipart/mixed")], body: "{}")
          var reader = PartReader()
          shots.append(try reader.read(answer.bytes).map { try Self.picture($0.jpeg) })
        }
        #expect(shots[0].count == 3 && shots[0] == shots[1], "\(kind)")
      }
      let open = try await Self.bodies((1...2).map { "/cameras/wall-open\($0)/main.png" }, service)
      #expect(open[0] != open[1])
    }
  }
}

/// The picture that a camera shows all the time: one of two that differ only behind the masks.
private struct Still: Sendable {
  let kind: String
  let twin: Int

  private var isJPEG: Bool { kind == "jpeg" }

  var size: Size { isJPEG ? Size(width: 160, height: 96) : Size(width: 96, height: 64) }

  /// A JPEG's mask lies between blocks of 16 x 16 pixels, so that nothing of what it hides is beside it.
  private static let blocks = Rectangle(x: 32, y: 32, width: 48, height: 32)
  private static let (filled, inTriangle) = (
    Rectangle(x: 50, y: 4, width: 22, height: 17), Rectangle(x: 10, y: 8, width: 6, height: 6)
  )
  /// Of cells of 8 x 8 pixels, whose mean is the same in both pictures.
  private static let (pixelated, blurred) = (
    Rectangle(x: 4, y: 34, width: 32, height: 24), Rectangle(x: 56, y: 34, width: 32, height: 24)
  )

  var masks: [PrivacyMask] {
    guard !isJPEG else { return [PrivacyMask(.rectangle(Self.blocks))] }
    return [
      PrivacyMask(.rectangle(Self.filled)),
      PrivacyMask(.polygon([[4, 4], [30, 6], [12, 24]]), effect: .fill(.white)),
      PrivacyMask(.rectangle(Self.pixelated), effect: .pixelate(cell: 8)),
      PrivacyMask(.rectangle(Self.blurred), effect: .blur(radius: 8)),
    ]
  }

  /// Three bytes a pixel, of which those behind masks are the twin's own.
  private var pixels: [UInt8] {
    var (common, own) = (SeededGenerator(seed: 1), SeededGenerator(seed: UInt64(1 + twin)))
    var bytes: [UInt8] = []
    for y in 0..<size.height {
      for x in 0..<size.width {
        if Self.filled.holds(x, y) || Self.inTriangle.holds(x, y) {
          for _ in 0..<3 { bytes.append(UInt8(own.pick(0...255))) }
        } else if Self.pixelated.holds(x, y) || Self.blurred.holds(x, y) {
          bytes += [UInt8](repeating: (x + y + twin) % 2 == 0 ? 40 : 200, count: 3)
        } else {
          for _ in 0..<3 { bytes.append(UInt8(common.pick(0...255))) }
        }
      }
    }
    return bytes
  }

  private func jpeg() throws -> [UInt8] {
    var (common, own) = (SeededGenerator(seed: 1), SeededGenerator(seed: UInt64(1 + twin)))
    var bytes: [UInt8] = []
    for step in [1, 2, 2] {
      for y in stride(from: 0, to: size.height, by: step) {
        for x in stride(from: 0, to: size.width, by: step) {
          bytes.append(UInt8(Self.blocks.holds(x, y) ? own.pick(0...255) : 100 + common.pick(0...60)))
        }
      }
    }
    return try JPEGEncoder(quality: 95).encode(Picture(tight: size, format: .ycbcr(.yuv420), bytes: bytes))
  }

  /// As a session takes it; `text` is a kind and the number of a twin.
  static func source(of text: String, named name: String, _ options: SourceOptions) -> SessionSource {
    var options = options
    options.live = LiveOptions(
      stallsAfter: allTheTimeThereIs, reconnectsAfter: allTheTimeThereIs, connectsWithin: allTheTimeThereIs)
    let still = Still(kind: String(text.dropLast()), twin: text.hasSuffix("1") ? 1 : 2)
    var source = SessionSource(
      name: name, options: options,
      SessionSource.Origin(isLive: true, hasSizes: false) { options in
        let camera = try StillCamera(still, options)
        return LiveSource(camera, options)
      })
    // Nothing stands in for it meanwhile.
    source.opensWithin = allTheTimeThereIs
    return source
  }

  /// The bytes that a camera delivers: a JPEG or pixels.
  var bytes: [UInt8] { get throws { try isJPEG ? jpeg() : pixels } }
}

private struct StillCamera: CaptureDevice, CaptureConnection {
  let name = "camera"
  let mode = SourceStatus.Mode(format: "test", transport: "test")
  private let size: Size
  private let bytes: [UInt8]
  private let options: SourceOptions
  private let isJPEG: Bool

  init(_ still: Still, _ options: SourceOptions) throws {
    (size, isJPEG, self.options) = (still.size, still.kind == "jpeg", options)
    bytes = try still.bytes
  }

  func connect() async throws -> any CaptureConnection { self }

  func next() async throws -> Capture? {
    try await pause(.milliseconds(10))
    guard !isJPEG else {
      return Capture(
        jpeg: bytes, timestamp: CaptureClock.now, options, memory: options.memory ?? FramePool())
    }
    return Capture(
      try Frame(
        tight: Frame.Format(.rgb24, size, color: .jfif), bytes: bytes, timestamp: CaptureClock.now))
  }

  func close() async {}
}

extension Rectangle {
  fileprivate func holds(_ column: Int, _ row: Int) -> Bool {
    column >= x && row >= y && column < x + width && row < y + height
  }
}
