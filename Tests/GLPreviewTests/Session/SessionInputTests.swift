// What nobody should ask for is refused in words, whether the source gives frames or not; nothing traps.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Invalid input to sessions", .timeLimit(.minutes(15)))
struct SessionInputTests {
  /// Readers that are at the same preview get the same answer from a source that gives frames, that is off, and that fails.
  private enum State: CaseIterable { case live, off, failing }

  private static func session(_ state: State) async throws -> PreviewSession {
    let script = SourceScript()
    let failing = FailingSource()
    let source = script.source(hasSizes: true)
    let session = try PreviewSession(scripted: state == .failing ? source.wrapped { _ in failing } : source)
    if state == .off { await session.sources.first?.setEnabled(false) }
    for number in 0..<2000 { script.give(UInt8(number & 255)) }
    return session
  }

  private static let sides = [Int.min, -1, 0, 65536, 1 << 40, Int.max]

  @Test(
    "an out-of-range view size throws to readers and snapshots, also of off and failing sources",
    arguments: sides)
  func sizes(side: Int) async throws {
    for state in State.allCases {
      let session = try await Self.session(state)
      let views = [
        ViewConfiguration(name: "a", width: side, height: 4), ViewConfiguration(name: "b", width: side),
        ViewConfiguration(name: "c", height: side),
        ViewConfiguration(name: "d", width: side, height: side, contentMode: .fit),
        ViewConfiguration(name: "e", rotation: .clockwise90, width: 65535, height: side),
        ViewConfiguration(name: "f", width: side, height: side, contentMode: .inside, surround: .blur),
      ]

      for view in views {
        let preview = try session.addPreview(view)
        await #expect(throws: ParameterError.self, "\(view.name) \(state)") {
          try await preview.pictures.first
        }
        await #expect(throws: ParameterError.self) {
          try await session.snapshot(
            SnapshotRequest.patient(.newest(maxAge: allTheTimeThereIs), of: [view.name]))
        }
      }
      await session.close()
    }
  }

  @Test("a 16000x16000 view throws for live, off and failing sources")
  func tooLarge() async throws {
    for state in State.allCases {
      let session = try await Self.session(state)
      let preview = try session.addPreview(ViewConfiguration(width: 16000, height: 16000))
      await #expect(throws: ParameterError.self) { try await preview.pictures.first }
      await session.close()
    }
  }

  @Test(
    "a crop outside the frame throws for live sources, and is accepted for off and failing ones",
    arguments: sides)
  func crops(number: Int) async throws {
    let crops = [
      Rectangle(x: number, y: 0, width: 2, height: 2), Rectangle(x: 0, y: number, width: 2, height: 2),
      Rectangle(x: 0, y: 0, width: number, height: 2), Rectangle(x: 1, y: 1, width: 2, height: number),
      Rectangle(x: number, y: number, width: number, height: number),
    ]

    for state in State.allCases {
      let session = try await Self.session(state)
      for (index, crop) in crops.enumerated() where !crop.isInside(Size(width: 8, height: 6)) {
        let preview = try session.addPreview(ViewConfiguration(name: "crop\(index)", crop: crop))
        if state == .live {
          await #expect(throws: ParameterError.self, "\(crop)") { try await preview.pictures.first }
        } else {
          #expect(try await preview.pictures.first != nil)
        }
      }
      await session.close()
    }
  }

  @Test(
    "extreme, zero and negative intervals and timeouts work without a crash or a hang",
    arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .seconds(-1), .zero])
  func durations(duration: Duration) async throws {
    let script = SourceScript()
    var source = script.source()
    source.opensWithin = duration
    let session = try PreviewSession([source], options: .tested(linger: duration))
    let preview = try session.addPreview(ViewConfiguration(width: 4, height: 3), updateEvery: duration)
    let scene = try session.addScene(
      Scene(size: Size(width: 8, height: 8), tiles: [Tile("camera")]), updateEvery: duration)

    for code: UInt8 in 0..<9 { script.give(code) }
    var frames = preview.pictures.makeAsyncIterator()
    while try await frames.next()?.sourceState != .live {}
    let next = Task { [frames] in
      var frames = frames
      return try await frames.next()
    }
    #expect(try await scene.pictures.first != nil)

    let patience = duration > .zero ? duration : .milliseconds(20)
    _ = try? await session.snapshot(SnapshotRequest(.newest(maxAge: duration), timeout: patience))
    await #expect(throws: (any Error).self) {
      try await session.snapshot(SnapshotRequest(.next, of: ["nobody"], timeout: duration))
    }

    await session.close()
    _ = try await next.value
  }

  @Test("a still with a settling count of -1 is taken")
  func settling() async throws {
    let script = SourceScript()
    let session = try PreviewSession(scripted: script.source(hasSizes: true))
    _ = try session.addPreview(ViewConfiguration(width: 4, height: 3))
    script.give(1)
    let snapshot = try await session.snapshot(SnapshotRequest.patient(.still(settling: -1), as: .rgba))
    #expect(snapshot.pictures.first?.picture.bytes[0] == 200)
    await session.close()
  }

  /// What is wrong with each is told to who reads it.
  private static var scenes: [(String, Scene)] {
    let good = Scene(size: Size(width: 32, height: 18), tiles: [Tile("camera")])
    func scene(_ change: (inout Scene) -> Void) -> Scene {
      var scene = good
      change(&scene)
      return scene
    }
    var scenes = sides.flatMap { side in
      [
        ("width \(side)", scene { $0.size = Size(width: side, height: 18) }),
        ("size \(side)", scene { $0.size = Size(width: side, height: side) }),
        ("aspect \(side)", scene { $0.tileAspect = Size(width: side, height: 1) }),
        (
          "rectangle \(side)",
          scene {
            $0.layout = .free
            $0.tiles[0].rectangle = Rectangle(x: 0, y: 0, width: side, height: 1)
          }
        ),
      ]
    }
    for gap in [Int.min, -1, 1 << 40, Int.max] { scenes.append(("gap \(gap)", scene { $0.gap = gap })) }
    for number in [Double.nan, .infinity, -1, 1e300] {
      scenes.append(("radius \(number)", scene { $0.cornerRadius = number }))
      scenes.append(("tile radius \(number)", scene { $0.tiles[0].cornerRadius = number }))
      scenes.append(("opacity \(number)", scene { $0.tiles[0].opacity = number }))
      scenes.append(("border \(number)", scene { $0.speakingBorder.width = number }))
      scenes.append(
        (
          "angle \(number)",
          scene { $0.background = .gradient(LinearGradient(from: .black, to: .black, angle: number * 1e5)) }
        ))
    }
    for count in [Int.min, -1, 0, 65, Int.max] {
      scenes.append(
        (
          "instances \(count)",
          scene { $0.tiles[0].replicator = Replicator(instanceCount: count, delay: .seconds(1)) }
        ))
    }
    for delay in [Duration.seconds(Int64.max), .seconds(-1)] {
      scenes.append(
        ("delay \(delay)", scene { $0.tiles[0].replicator = Replicator(instanceCount: 2, delay: delay) }))
    }
    scenes.append(("no tiles", scene { $0.tiles = [] }))
    scenes.append(("50 tiles", scene { $0.tiles = Array(repeating: Tile("camera"), count: 50) }))
    scenes.append(("too large", scene { $0.size = Size(width: 16000, height: 16000) }))
    return scenes
  }

  @Test("an invalid scene throws ParameterError to its reader, and a valid one works again")
  func badScenes() async throws {
    for state in [State.live, .off] {
      // One that always has another frame: a scene's snapshot waits for those that have none.
      let camera = UnrulyCamera()
      camera.calmDown()
      let session = try PreviewSession(scripted: camera.source(named: "camera"))
      if state == .off { await session.sources.first?.setEnabled(false) }
      let good = Scene(size: Size(width: 32, height: 18), tiles: [Tile("camera")])
      let preview = try session.addScene(good)

      for (name, scene) in Self.scenes {
        preview.scene = scene
        let error = await #expect(throws: (any Error).self, "\(name) \(state)") {
          try await preview.pictures.first
        }
        #expect(error is ParameterError, "\(name): \(String(describing: error))")
        await #expect(throws: (any Error).self, "\(name) \(state)") {
          try await session.snapshot(SnapshotRequest.patient(.newest, of: ["scene"]))
        }
      }

      preview.scene = good
      #expect(try await preview.pictures.first != nil)
      await session.close()
    }
  }

  @Test("an out-of-range JPEG quality still gives a JPEG", arguments: [Int.min, -1, 0, 101, Int.max])
  func quality(quality: Int) async throws {
    let session = try await Self.session(.off)
    let preview = try session.addPreview(ViewConfiguration(width: 16, height: 16))
    let frame = try #require(try await preview.pictures(for: .jpeg).first)
    let clamped = try await frame.jpeg(quality: min(max(quality, 1), 100))
    #expect(try await frame.jpeg(quality: quality).bytes == clamped.bytes)
    await session.close()
  }
}
