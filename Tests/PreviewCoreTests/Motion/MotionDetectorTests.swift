// Zones, masks, sizes and recordings of cells.
import Testing

@testable import PreviewCore

@Suite("Motion detector")
struct MotionDetectorTests {
  /// A box of 14 x 14 cells goes from left to right in rows 12...25, and comes back.
  private static let scene = MotionScene.moving[5]

  private static func findings(
    _ settings: MotionSettings = MotionSettings(), masks: [PrivacyMask] = [], reference: Size? = nil,
    in scene: MotionScene = scene
  ) -> [MotionDetector.Finding] {
    var detector = MotionDetector(settings, masks: masks)
    return scene.pictures(seed: 1).prefix(200).map { detector.take($0, reference: reference) }
  }

  private static func sightings(_ findings: [MotionDetector.Finding]) -> [MotionSighting] {
    findings.compactMap { if case .moves(let sighting) = $0 { sighting } else { nil } }
  }

  private static func zones(_ words: String...) throws -> MotionSettings {
    var settings = MotionSettings()
    settings.zones = try words.map { try MotionZone(parsing: $0) }
    return settings
  }

  @Test("motion is reported only inside zones, with their names, by each zone's sensitivity")
  func zones() throws {
    let settings = try Self.zones("left=0,0,0.5,1", "right=0.5,0 1,0 1,1 0.5,1", "low=0,0.9,1,0.1")
    let seen = Self.sightings(Self.findings(settings))
    #expect(Set(seen.map(\.zones)) == [["left"], ["left", "right"], ["right"]])
    #expect(!Self.sightings(Self.findings()).isEmpty)
    #expect(Self.sightings(Self.findings(try Self.zones("low=0,0.9,1,0.1"))).isEmpty)
    // Something with a contrast of 15.
    let faint = MotionScene.moving[2]
    #expect(!Self.sightings(Self.findings(try Self.zones("a=0,0,1,1:sensitivity=50"), in: faint)).isEmpty)
    #expect(Self.sightings(Self.findings(try Self.zones("a=0,0,1,1:sensitivity=10"), in: faint)).isEmpty)
  }

  @Test("a zone is reported only if the motion reaches the zone's own minimum size")
  func leastSizeOfZone() throws {
    let zones = try Self.zones("a=0,0,1,1:min-size=100", "b=0,0,0.5,1:sensitivity=60:min-size=0.2")

    let field = MotionField(zones, hidden: [])

    #expect(field.zones(0b11, enoughFor: 5) == 0b10)
    #expect(field.zones(0b01, enoughFor: 5) == nil)
    #expect(field.zones(0b11, enoughFor: MotionCells.count) == 0b11)
  }

  @Test("motion smaller than the minimum size is not reported")
  func size() {
    var settings = MotionSettings()
    settings.minimumSize = 5
    #expect(!Self.sightings(Self.findings(settings)).isEmpty)
    settings.minimumSize = 15
    #expect(Self.sightings(Self.findings(settings)).isEmpty)
  }

  @Test(
    "masked areas report no motion with any mask effect, nor anything before the masks' size is known",
    arguments: [PrivacyMask.Effect.fill(.black), .pixelate(cell: 8), .blur(radius: 8)])
  func masks(effect: PrivacyMask.Effect) {
    let (size, all) = (Size(width: 640, height: 360), Rectangle(x: 0, y: 100, width: 640, height: 180))
    let masks = [PrivacyMask(.rectangle(all), effect: effect)]
    let hidden = Self.findings(masks: masks, reference: size)
    #expect(Self.sightings(hidden).isEmpty && hidden.contains(.noMotion))
    #expect(Set(Self.findings(masks: masks)) == [.learning])

    let half = [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 320, height: 360)), effect: effect)]
    let seen = Self.sightings(Self.findings(masks: half, reference: size))
    #expect(!seen.isEmpty && seen.allSatisfy { $0.box.columns.lowerBound > 32 })
  }

  @Test("an object that stays becomes background after some seconds, as does the place that it leaves")
  func staying() {
    let scene = MotionScene.limits[4]
    var detector = MotionDetector(MotionSettings())
    let findings = scene.pictures(seed: 1).map { detector.take($0) }

    #expect(findings[110..<125].allSatisfy { if case .moves = $0 { true } else { false } })
    #expect(findings[180..<330].allSatisfy { $0 == .noMotion })
    #expect(findings[400...].allSatisfy { $0 == .noMotion })
  }

  @Test("after an outage the detector learns the background again")
  func outage() {
    var detector = MotionDetector(MotionSettings())
    let pictures = Self.scene.pictures(seed: 1)
    for picture in pictures.prefix(50) { _ = detector.take(picture) }
    detector.lost()

    #expect(detector.differences.isEmpty)
    #expect(detector.take(pictures[110]) == .learning)
  }

  @Test("MotionCells copies the first plane of a 64x36 picture without row padding, or else is nil")
  func picture() throws {
    let size = Size(width: MotionCells.columns, height: MotionCells.rows)
    let codes = (0..<MotionCells.count).map { UInt8($0 % 251) }
    let rows = (0..<36).flatMap { codes[$0 * 64..<$0 * 64 + 64] + [UInt8](repeating: 255, count: 16) }
    let plane = Picture.Plane(size: size, offset: 0, bytesPerRow: 80)
    let picture = Picture(size: size, format: .ycbcr(.yuv420), planes: [plane], bytes: rows)

    #expect(MotionCells(picture, at: .start)?.luma == codes)
    let wide = Picture(
      tight: Size(width: 65, height: 36), format: .rgba, bytes: [UInt8](repeating: 0, count: 9360))
    #expect(MotionCells(wide, at: .start) == nil && MotionCells([1, 2], at: .start) == nil)
  }

  // MARK: Words

  @Test("a motion zone's description parses back to the zone, and an invalid zone is rejected")
  func words() throws {
    for text in [
      "a=0,0,0.5,0.25", "gate-2=0.1,0.1 0.9,0.1 0.5,0.7:sensitivity=80",
      "c=0,0,1,1:sensitivity=80:min-size=2.5",
    ] {
      let zone = try MotionZone(parsing: text)
      #expect(try MotionZone(parsing: "\(zone)") == zone)
    }
    #expect(try MotionZone(parsing: "a=0,0,0.5,0.25").cells.count == 32 * 9)
    for text in [
      "", "a", "=0,0,1,1", "a b=0,0,1,1", "a=0,0,0,1", "a=0.5,0,0.6,1", "a=0,0 1,1", "a=0,0,1", "a=0,0,1,x",
      "a=0,0,1,nan", "a=0,0,1,1:sensitivity=0", "a=0,0,1,1:quick", "a=0,0,1,1:min-size=0",
      "a=0,0,1,1:min-size=1:min-size=2", "a=0,0 1,0 1,2",
    ] {
      #expect(throws: ParameterError.self, "\(text)") { try MotionZone(parsing: text) }
    }
  }

  // MARK: Recordings

  @Test("a motion recording restores cells and times, may be cut off, and is small without changes")
  func recording() throws {
    var pictures = Array(Self.scene.pictures(seed: 3).prefix(20))
    pictures += pictures.reversed() + [pictures[0], pictures[0]]
    let bytes = MotionRecording(pictures).bytes
    #expect(try MotionRecording(bytes: bytes).pictures == pictures)
    #expect(try MotionRecording(bytes: bytes.dropLast()).pictures == pictures.dropLast())
    #expect(MotionRecording([pictures[0], pictures[0]]).bytes.count < 64 + 2 * MotionCells.count)
    #expect(throws: ParameterError.self) { try MotionRecording(bytes: Array(bytes.dropFirst())) }
  }

  @Test("replaying a motion recording produces the same events")
  func replay() throws {
    let pictures = Self.scene.pictures(seed: 1)
    func events(_ pictures: [MotionCells]) -> [MotionEpisodes.Change] {
      var (detector, episodes) = (MotionDetector(MotionSettings()), MotionEpisodes(MotionSettings()))
      return pictures.flatMap { episodes.take(detector.take($0), at: $0.time) }
    }

    let told = events(pictures)
    #expect(!told.isEmpty)
    #expect(try events(MotionRecording(bytes: MotionRecording(pictures).bytes).pictures) == told)
  }
}

extension MotionRecording {
  fileprivate init(bytes: ArraySlice<UInt8>) throws { try self.init(bytes: Array(bytes)) }
}
