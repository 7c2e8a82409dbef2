// What a renderer keeps of the frames of scenes, and what it gives back.
import Conformance
import ReferenceRenderer
import Testing

@testable import GLPreview

@Suite("Scenes on the GPU")
struct SceneTests {
  private static let color = ColorDescription(matrix: .bt601, range: .limited, siting: .left)

  private static func frame(_ seed: UInt64, _ pixelFormat: PixelFormat = .nv12) throws -> Frame {
    try .synthetic(
      Frame.Format(pixelFormat, Size(width: 64, height: 48), color: color), .noise, seed: seed)
  }

  /// Tiles of 20 x 16 side by side, of frames 0, 1, ...
  private static func composition(_ inputs: [Int]) -> Composition {
    Composition(
      size: Size(width: 22 * inputs.count, height: 18),
      layers: inputs.enumerated().map { index, input in
        Layer(
          .view(input: input, ViewConfiguration()),
          in: Rectangle(x: 1 + 22 * index, y: 1, width: 20, height: 16), shape: .rounded(4))
      })
  }

  @Test("a tile of an unchanged frame is reused, whatever its sequence number; a new frame is drawn")
  func reuse() async throws {
    let renderer = try await GLRenderer.open(on: GPUDevice.chooseForGL())
    let frames = try [Self.frame(1), Self.frame(2), Self.frame(3, .rgba)]
    let plan = try RenderPlanner(tuning: renderer.tuning).plan(
      frames.map(\.format), Self.composition([0, 1, 2, 1]), as: .rgba)

    let first = try await renderer.render(frames, plan)
    // Of the second frame there are two equal tiles.
    #expect(await renderer.countTiles() == 3)

    let again = try await renderer.render(frames.map { $0.with(sequence: 9) }, plan)
    #expect(again == first)
    #expect(await renderer.countTiles() == 3)

    let changed = [frames[0], try Self.frame(4), frames[2]]
    let next = try await renderer.render(changed, plan)
    #expect(await renderer.countTiles() == 4)
    let difference = PictureDifference(expected: ReferenceRenderer().render(changed, plan), actual: next)
    #expect(difference.worst <= 1)

    await renderer.close()
  }

  @Test("96 tiles of new frames are all drawn and within the error bound")
  func manyTiles() async throws {
    let renderer = try await GLRenderer.open(on: GPUDevice.chooseForGL())
    let planner = RenderPlanner(tuning: renderer.tuning)

    for seed in 0..<UInt64(24) {
      let frames = try (0..<4).map { try Self.frame(seed % 20 * 4 + $0) }
      let plan = try planner.plan(frames.map(\.format), Self.composition([0, 1, 2, 3]), as: .ycbcr(.yuv420))
      let difference = PictureDifference(
        expected: ReferenceRenderer().render(frames, plan), actual: try await renderer.render(frames, plan))
      #expect(difference.worst <= 1)
    }

    // Equal bytes are no identity: every frame is new.
    #expect(await renderer.countTiles() == 96)
    await renderer.close()
  }

  /// A scene for other tests.
  static func timed(_ tuning: RenderTuning) throws -> (frames: [Frame], plan: ScenePlan) {
    let frames = try [frame(1), frame(2)]
    return (
      frames, try RenderPlanner(tuning: tuning).plan(frames.map(\.format), composition([0, 1]), as: .rgba)
    )
  }

  @Test("scenes rendered concurrently equal scenes rendered one by one", arguments: [1, 3])
  func inFlight(framesInFlight: Int) async throws {
    let device = try await GPUDevice.chooseForGL()
    let direct = try await GLRenderer.open(on: device)
    let tuning = RenderTuning(
      maximumTargetSide: device.tuning.maximumTargetSide, boxes: device.tuning.boxes,
      transfer: .buffered(framesInFlight: framesInFlight))
    let buffered = try await GLRenderer.open(on: device, tuning: tuning)
    let scenes = try (0..<6).map { index -> ([Frame], ScenePlan) in
      let frames = try [Self.frame(UInt64(index / 2)), Self.frame(UInt64(10 + index), .i420)]
      let plan = try RenderPlanner(tuning: tuning).plan(
        frames.map(\.format), Self.composition([0, 1]), as: index % 2 == 0 ? .rgba : .ycbcr(.yuv420))
      return (frames, plan)
    }

    let tasks = scenes.map { frames, plan in Task { try await buffered.render(frames, plan) } }

    for ((frames, plan), task) in zip(scenes, tasks) {
      #expect(try await task.value.flattened == direct.render(frames, plan).flattened)
    }

    await direct.close()
    await buffered.close()
  }

  @Test("a closed renderer holds no GL objects of its scenes, and `render` throws")
  func close() async throws {
    let renderer = try await GLRenderer.open(on: GPUDevice.chooseForGL())
    let frames = try [Self.frame(1), Self.frame(2)]
    let plan = try RenderPlanner(tuning: renderer.tuning).plan(
      frames.map(\.format), Self.composition([0, 1]), as: .rgba)
    _ = try await renderer.render(frames, plan)
    let living = await renderer.livingAfterClose()
    #expect(living.isEmpty, "\(living)")
    await #expect(throws: RenderError.self) { try await renderer.render(frames, plan) }
  }

  @Test("frames that do not match the plan are rejected; an unused input accepts any frame")
  func otherFrames() async throws {
    let renderer = try await GLRenderer.open(on: GPUDevice.chooseForGL())
    let frame = try Self.frame(1)
    let plan = try RenderPlanner(tuning: renderer.tuning).plan(
      [frame.format, frame.format], Self.composition([1]), as: .rgba)
    #expect(plan.sources == [nil, frame.format])

    let picture = try await renderer.render([nil, frame], plan)
    #expect(try await renderer.render([Self.frame(1, .rgba), frame], plan) == picture)
    for frames in [[], [frame], [frame, nil], [frame, try Self.frame(1, .rgba)]] {
      await #expect(throws: RenderError.self) { try await renderer.render(frames, plan) }
    }

    await renderer.close()
  }
}

extension GLRenderer {
  /// What is left on the GPU thread.
  fileprivate func livingAfterClose() async -> [GLLedger.Kind: Int] {
    await close()
    return GLLedger.livingOnThisThread
  }
}
