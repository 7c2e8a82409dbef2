// Motion zones that are drawn in the picture of a view: which cells of the source they have.
import Testing

@testable import PreviewCore

@Suite("Motion zones in views")
struct ViewZoneTests {
  private static let size = Size(width: 640, height: 360)

  /// Parses a view, such as `crop=320x360+0+0`.
  private static func view(_ words: String) throws -> ViewConfiguration {
    try ViewConfiguration(parsing: words.isEmpty ? "door" : "door:\(words)")
  }

  /// Returns the cells of a place, such as `0,0,1,1`, in the picture of a view.
  private static func cells(
    _ place: String, in view: ViewConfiguration, of size: Size = size
  ) throws -> [Int] {
    var finder = ZoneFinder(["door": view], of: size)
    return try finder.cells(of: MotionZone(parsing: "a=\(place):view=door"))
  }

  /// Returns the cells of a place in the upright picture.
  private static func cells(_ place: String) throws -> [Int] { try MotionZone(parsing: "a=\(place)").cells }

  @Test(
    "a rectangle in a view has the cells that the view shows there",
    arguments: [
      ("", "0,0,1,1", "0,0,1,1"), ("size=320x180", "0.25,0.5,0.5,0.5", "0.25,0.5,0.5,0.5"),
      ("crop=320x180+320+180", "0,0,1,1", "0.5,0.5,0.5,0.5"),
      ("crop=320x180+320+180,size=64x36", "0.5,0,0.5,1", "0.75,0.5,0.25,0.5"),
      ("rotate=90", "0,0,1,0.5", "0,0,0.5,1"), ("rotate=270", "0,0,1,0.5", "0.5,0,0.5,1"),
      ("rotate=180", "0,0,1,0.5", "0,0.5,1,0.5"), ("mirror=horizontal", "0,0,0.25,1", "0.75,0,0.25,1"),
      ("size=640x720,mode=fit", "0,0,1,0.5", "0,0,1,0.5"),
      ("size=320x360,mode=fill", "0,0,1,1", "0.25,0,0.5,1"),
      ("corners=160,90 480,90 480,270 160,270", "0,0,1,1", "0.25,0.25,0.5,0.5"),
    ])
  func rectangles(words: String, drawn: String, shown: String) throws {
    #expect(try Self.cells(drawn, in: Self.view(words)) == Self.cells(shown))
  }

  @Test("a zone in bars beside the picture, or without area, has no cells, which is an error with its name")
  func nothing() throws {
    for (words, place) in [
      ("size=640x720,mode=fit", "0,0,1,0.2"), ("", "0.1,0.1 0.5,0.5 0.9,0.9"),
      ("lens=fisheye fov 90,yaw=180,hfov=40", "0,0,1,1"),
    ] {
      let view = try Self.view(words)
      let error = #expect(throws: ParameterError.self, "\(words)") { try Self.cells(place, in: view) }
      #expect(error?.reason.contains("zone 'a': view 'door' shows nothing") == true, "\(words)")
    }
    let far = try Self.view("crop=9x9+640+0")
    let error = #expect(throws: ParameterError.self) { try Self.cells("0,0,1,1", in: far) }
    #expect(error?.reason.contains("can't be drawn: crop") == true)
  }

  @Test("a zone smaller than a cell has the one cell that it lies in")
  func small() throws {
    let view = try Self.view("crop=64x36+128+180,size=640x360")
    #expect(try Self.cells("0.01,0.01,0.02,0.02", in: view) == [18 * 64 + 12])
  }

  @Test(
    "zones follow a lens: they have the cells that are seen inside them, and none far from these",
    arguments: [
      "lens=fisheye fov 190,yaw=20,pitch=-10,hfov=70,size=320x180",
      "lens=fisheye fov 170,yaw=70,roll=30,hfov=120,size=320x180",
      "lens=fisheye fov 180,projection=equirectangular,hfov=360,size=400x200",
      "lens=fisheye curve equisolid fov 185,projection=cylinder,yaw=-40,hfov=200,size=300x100,rotate=90",
      "rotate=12.5,mode=fit", "corners=100,50 500,20 600,350 40,300,mirror=vertical",
    ])
  func curves(words: String) throws {
    let view = try Self.view(words)
    let corners: [SIMD2<Double>] = [[0.15, 0.2], [0.9, 0.1], [0.8, 0.95], [0.3, 0.7]]
    let zone = MotionZone(name: "a", corners: corners, view: "door")
    var finder = ZoneFinder(["door": view], of: Self.size)
    let cells = Set(try finder.cells(of: zone))

    // The other way, from the picture to the source.
    let target = try view.shown(in: Self.size).placement.target
    let picture = SIMD2(Double(target.width), Double(target.height))
    let side = 400
    var places: [SIMD2<Double>] = []
    for index in 0..<side * side {
      let (row, column) = index.quotientAndRemainder(dividingBy: side)
      let place = SIMD2(Double(column) + 0.5, Double(row) + 0.5) / Double(side)
      if Self.isInside(place, corners) { places.append(place * picture) }
    }
    var seen: Set<Int> = []
    for case let position? in try view.sourcePoints(of: places, in: Self.size) {
      // Positions on the picture's edge may be rounded outwards.
      let column = min(max(Int(position.x / 10), 0), MotionCells.columns - 1)
      let row = min(max(Int(position.y / 10), 0), MotionCells.rows - 1)
      seen.insert(row * MotionCells.columns + column)
    }
    // An edge may cut off so little of a cell that it is left out.
    let missing = seen.subtracting(cells).count
    #expect(seen.count > 20 && missing * 50 <= seen.count, "\(missing) of \(seen.count) are missing")
    let near = seen.flatMap { cell in
      [-65, -64, -63, -1, 0, 1, 63, 64, 65].map { cell + $0 }
    }
    #expect(cells.isSubset(of: near))
  }

  /// Whether a point is inside a convex polygon whose corners go clockwise.
  private static func isInside(_ point: SIMD2<Double>, _ corners: [SIMD2<Double>]) -> Bool {
    corners.indices.allSatisfy { index in
      let (from, to) = (corners[index], corners[(index + 1) % corners.count])
      let (way, rest) = (to - from, point - from)
      return way.x * rest.y - way.y * rest.x >= 0
    }
  }

  @Test(
    "motion in a zone of a view is reported like that in the same part of the source, once its size is known")
  func detector() throws {
    func findings(
      _ zone: String, _ views: [String: ViewConfiguration], _ reference: Size?
    ) throws -> [MotionDetector.Finding] {
      var settings = MotionSettings()
      settings.zones = [try MotionZone(parsing: zone)]
      var detector = MotionDetector(settings, views: views)
      return MotionScene.moving[5].pictures(seed: 1).prefix(200).map {
        detector.take($0, reference: reference)
      }
    }
    let views = ["door": try Self.view("crop=320x360+320+0,size=100x50,mode=stretch")]
    let expected = try findings("right=0.5,0,0.5,1", [:], nil)
    #expect(
      expected.contains { if case .moves(let sighting) = $0 { sighting.zones == ["right"] } else { false } })
    let drawn = try findings("right=0,0,1,1:view=door", views, Self.size)
    #expect(drawn == expected)
    let early = try findings("right=0,0,1,1:view=door", views, nil)
    #expect(Set(early) == [.learning])
    // Where it is unknown, nothing counts rather than everything.
    let unknown = try findings("right=0,0,1,1:view=gate", views, Self.size)
    #expect(!unknown.contains { if case .moves = $0 { true } else { false } })
  }

  @Test("zones are checked by the names of their views, and by what these show once the size is known")
  func checks() throws {
    var settings = MotionSettings()
    settings.zones = [
      try MotionZone(parsing: "plain=0,0,1,1"), try MotionZone(parsing: "bar=0,0,1,0.1:view=door"),
    ]
    let unknown = #expect(throws: ParameterError.self) { try settings.checkZones(in: [:], of: nil) }
    #expect(unknown?.key == "zones" && unknown?.reason.contains("no view 'door'") == true)
    let views = ["door": try Self.view("size=640x720,mode=fit")]
    try settings.checkZones(in: views, of: nil)
    let bar = #expect(throws: ParameterError.self) { try settings.checkZones(in: views, of: Self.size) }
    #expect(bar?.reason.contains("zone 'bar'") == true)
    settings.zones.removeLast()
    try settings.checkZones(in: [:], of: Self.size)
  }

  @Test("the text of a zone names its view, and an invalid view is rejected")
  func words() throws {
    for text in ["a=0,0,0.5,0.25:view=door", "b=0,0 1,0 0.5,1:min-size=2:view=door-2:sensitivity=70"] {
      let zone = try MotionZone(parsing: text)
      #expect(zone.view?.hasPrefix("door") == true)
      #expect(try MotionZone(parsing: "\(zone)") == zone)
    }
    for text in ["a=0,0,1,1:view=", "a=0,0,1,1:view", "a=0,0,1,1:view=a b", "a=0,0,1,1:view=a:view=b"] {
      #expect(throws: ParameterError.self, "\(text)") { try MotionZone(parsing: text) }
    }
  }
}
