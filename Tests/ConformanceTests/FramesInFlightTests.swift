// Several frames on their way over the GPU at once: the same pictures, whoever asks and whenever it ends.
import Conformance
import ReferenceRenderer
import Synchronization
import TestSupport
import Testing

@testable import GLPreview

@Suite("Frames in flight")
struct FramesInFlightTests {
  /// A frame and what is to be drawn of it.
  private struct Work: Sendable {
    let frame: Frame
    let plan: RenderPlan
  }

  private static func renderer(
    _ framesInFlight: Int, boxes: BoxPacking = .texels, timesPasses: Bool = false
  ) async throws -> GLRenderer {
    let device = try await GPUDevice.chooseForGL()
    let hasBuffersOfTexels = (device.driver?.version ?? GLVersion(3, 0)) >= GLVersion(3, 2)
    return try await GLRenderer.open(
      on: device,
      tuning: RenderTuning(
        maximumTargetSide: device.tuning.maximumTargetSide, boxes: hasBuffersOfTexels ? boxes : .texels,
        transfer: framesInFlight == 0 ? .direct : .buffered(framesInFlight: framesInFlight),
        timesPasses: timesPasses))
  }

  /// One frame after another of another format, size and content.
  private static func works(_ count: Int, _ tuning: RenderTuning) throws -> [Work] {
    let color = ColorDescription(matrix: .bt601, range: .limited, siting: .left)
    return try (0..<count).map { index in
      let pixelFormat = PixelFormat.allCases[index % PixelFormat.allCases.count]
      let size = Size(width: 31 + index * 7 % 40, height: 64 - index * 3 % 30)
      let frame = try Frame.synthetic(
        Frame.Format(pixelFormat, size, color: color), .noise, seed: UInt64(index), padding: index % 4)
      // Areas, a turned copy of them, and, now and then, taps.
      let views = [
        ViewRequest(ViewConfiguration(width: 8 + index % 9, height: 9), as: .ycbcr(.yuv420)),
        ViewRequest(ViewConfiguration(rotation: .clockwise90, width: 12, height: 10), as: .ycbcr(.yuv420)),
        ViewRequest(ViewConfiguration(width: 17, filter: .lanczos), as: .rgba),
      ]
      let requests = Array(views[0..<(index % 4 == 0 ? 3 : 2)])
      return Work(frame: frame, plan: try RenderPlanner(tuning: tuning).plan(frame.format, requests))
    }
  }

  /// All at once.
  private static func render(
    _ works: [Work], on renderer: GLRenderer
  ) async throws -> [Result<[Picture], RenderError>] {
    await withTaskGroup(of: (Int, Result<[Picture], RenderError>).self) { group in
      for (index, work) in works.enumerated() {
        group.addTask {
          do throws(RenderError) {
            return (index, .success(try await renderer.render(work.frame, work.plan)))
          } catch {
            return (index, .failure(error))
          }
        }
      }
      var results: [Int: Result<[Picture], RenderError>] = [:]
      for await (index, result) in group { results[index] = result }
      return works.indices.compactMap { results[$0] }
    }
  }

  @Test(
    "frames of mixed formats rendered concurrently equal frames rendered one by one, byte for byte",
    arguments: [(1, BoxPacking.texels), (3, .texels), (3, .words)])
  func sameBytes(framesInFlight: Int, boxes: BoxPacking) async throws {
    let (direct, pipelined) = (
      try await Self.renderer(0, boxes: boxes), try await Self.renderer(framesInFlight, boxes: boxes)
    )
    let works = try Self.works(PixelFormat.allCases.count, direct.tuning)

    let actual = try await Self.render(works, on: pipelined)

    for (work, pictures) in zip(works, actual) {
      #expect(try await direct.render(work.frame, work.plan) == pictures.get(), "\(work.frame.format)")
    }

    // And once more with buffers and targets that were used before.
    for (work, pictures) in zip(works, actual) {
      #expect(try await pipelined.render(work.frame, work.plan) == pictures.get(), "\(work.frame.format)")
    }

    await direct.close()
    await pipelined.close()
  }

  @Test("a frame larger than a texture is rendered correctly in bands, uploaded directly or by buffer")
  func bands() async throws {
    let device = try await GPUDevice.chooseForGL()
    let format = Frame.Format(
      .nv12, Size(width: 150, height: 40),
      color: ColorDescription(matrix: .bt601, range: .limited, siting: .left))
    let frame = try Frame.synthetic(format, .noise, seed: 4, padding: 3)

    for transfer in [FrameTransfer.direct, .buffered(framesInFlight: 2)] {
      let tuning = RenderTuning(maximumTargetSide: 64, transfer: transfer)
      let renderer = try await GLRenderer.open(on: device, tuning: tuning)
      let plan = try RenderPlanner(tuning: tuning).plan(
        format, [ViewRequest(ViewConfiguration(width: 30, height: 20), as: .rgba)])

      let difference = PictureDifference(
        expected: ReferenceRenderer().render(frame, plan)[0],
        actual: try await renderer.render(frame, plan)[0])

      #expect(difference.worst <= 1, "\(transfer)")
      await renderer.close()
    }
  }

  @Test("timed drawing and `measure` return the same pictures as `render`")
  func timed() async throws {
    let renderer = try await Self.renderer(3, timesPasses: true)
    for work in try Self.works(3, renderer.tuning) {
      let pictures = try await renderer.render(work.frame, work.plan)
      let (timed, time) = try await renderer.render(work.frame, work.plan, within: nil)
      let (measured, measurement) = try await renderer.measure(work.frame, work.plan)

      #expect(timed == pictures)
      #expect(measured == pictures)
      #expect((time ?? .zero) >= .zero)
      #expect(measurement.upload.gpu == nil && measurement.readback.gpu == nil)
      #expect((measurement.passes.gpu ?? .zero) >= .zero)
      #expect(measurement.readback.byteCount == pictures.reduce(0) { $0 + $1.bytes.count })
    }

    #expect(await renderer.living(.query) == 0)
    await renderer.close()
  }

  @Test("GPU time is reported only if the device has a timer and the tuning enables it")
  func clock() async throws {
    for (framesInFlight, timesPasses) in [(0, true), (3, true), (0, false), (3, false)] {
      let renderer = try await Self.renderer(framesInFlight, timesPasses: timesPasses)
      let work = try Self.works(1, renderer.tuning)[0]
      let hasClock = await renderer.hasClock()
      var times: [Duration?] = []
      var measured: [Duration?] = []

      // The first query of llvmpipe is one too large.
      for _ in 0..<4 {
        times.append(try await renderer.render(work.frame, work.plan, within: nil).gpuTime)
        measured.append(try await renderer.measure(work.frame, work.plan).measurement.passes.gpu)
      }

      let scene = try SceneTests.timed(renderer.tuning)
      for _ in 0..<4 {
        times.append(try await renderer.render(scene.frames, scene.plan, within: nil).gpuTime)
      }

      let isTold = hasClock && timesPasses
      #expect(times.suffix(4).contains { $0 != nil } == isTold, "\(framesInFlight) \(timesPasses)")
      #expect(times.prefix(4).contains { $0 != nil } == isTold, "\(framesInFlight) \(timesPasses)")
      #expect(measured.contains { $0 != nil } == isTold, "\(framesInFlight) \(timesPasses)")
      await renderer.close()
    }
  }

  // MARK: Ends

  @Test("200 concurrent renders are correct and leave at most 12 pixel buffers")
  func crowd() async throws {
    let renderer = try await Self.renderer(3)
    let works = try Self.works(4, renderer.tuning)
    let crowd = (0..<200).map { works[$0 % works.count] }
    let alone = try await Self.render(works, on: renderer).map { try $0.get() }

    for (index, result) in try await Self.render(crowd, on: renderer).enumerated() {
      #expect(try result.get() == alone[index % works.count])
    }
    #expect(await renderer.living(.fence) == 0)

    // What no drawing has used since goes with the second: a buffer for the pictures and three for planes, of three frames, stay.
    for _ in 0..<2 { _ = try await renderer.render(works[0].frame, works[0].plan) }
    #expect(await renderer.living(.pixelBuffer) <= 12)

    await renderer.close()
    #expect(await renderer.living(.pixelBuffer) == 0)
  }

  @Test("closing a renderer with frames in flight throws for each frame and frees all GL objects")
  func closeInFlight() async throws {
    for count in [1, 3, 5] {
      let renderer = try await Self.renderer(3)
      let works = try Self.works(count, renderer.tuning)

      let (results, inFlight) = await renderer.renderAndClose(works.map { ($0.frame, $0.plan) })

      #expect(inFlight == min(count, 3))
      #expect(results.count == count)
      for result in results {
        let error = #expect(throws: RenderError.self) { try result.get() }
        #expect(error?.description == "the renderer is closed")
      }
      #expect(await renderer.ledger() == [:])
    }
  }

  @Test(
    "a renderer that is released without `close` frees all GL objects",
    .oneProcessAtATime, .timeLimit(.minutes(15)))
  func release() async throws {
    // In a process of its own, where no other test uses the GPU.
    await #expect(processExitsWith: .success) {
      func draw() async throws {
        let renderer = try await FramesInFlightTests.renderer(3)
        let works = try FramesInFlightTests.works(5, renderer.tuning)
        for result in try await FramesInFlightTests.render(works, on: renderer) {
          #expect(!(try result.get().isEmpty))
        }
      }

      try await draw()
      // Its thread takes a moment to end what it holds.
      await until { GLLedger.living == [:] }
    }
  }

  @Test("a cancelled task still gets its pictures, and so do the tasks after it")
  func cancelled() async throws {
    let renderer = try await Self.renderer(2)
    let works = Array(repeatElement(try Self.works(3, renderer.tuning), count: 4).joined())

    let tasks = works.map { work in Task { try await renderer.render(work.frame, work.plan) } }
    for (index, task) in tasks.enumerated() where index % 2 == 0 { task.cancel() }

    for (work, task) in zip(works, tasks) {
      let pictures = try await task.value
      #expect(pictures == (try await renderer.render(work.frame, work.plan)))
    }

    #expect(await renderer.living(.fence) == 0)
    await renderer.close()
  }

  @Test("a frame that fails to render does not block other frames and leaks no GL objects")
  func refused() async throws {
    let renderer = try await Self.renderer(2)
    let works = Array(repeatElement(try Self.works(4, renderer.tuning), count: 5).joined())
    // Beyond any texture, so the driver refuses the targets.
    let huge = try RenderPlanner().plan(
      works[0].frame.format,
      [ViewRequest(ViewConfiguration(width: 65_535, height: 1, contentMode: .stretch), as: .rgba)])
    let mixed = works.enumerated().map { index, work in
      index % 3 == 0 ? Work(frame: works[0].frame, plan: huge) : work
    }

    for (index, result) in try await Self.render(mixed, on: renderer).enumerated() {
      if index % 3 == 0 {
        #expect(throws: RenderError.self) { try result.get() }
      } else {
        #expect(!(try result.get().isEmpty))
      }
    }

    #expect(await renderer.living(.fence) == 0)
    await renderer.close()
    #expect(await renderer.ledger() == [:])
  }
}

extension GLRenderer {
  fileprivate func ledger() -> [GLLedger.Kind: Int] { GLLedger.livingOnThisThread }
  fileprivate func living(_ kind: GLLedger.Kind) -> Int { GLLedger.livingOnThisThread[kind] ?? 0 }
  fileprivate func hasClock() -> Bool { TimerQuery.isSupported }

  /// Asks for frames and then, before any of them comes back, for the end; tells how many were in flight then.
  fileprivate func renderAndClose(
    _ works: [(frame: Frame, plan: RenderPlan)]
  ) async -> ([Result<[Picture], any Error>], inFlight: Int) {
    // All are jobs of this thread, in this order.
    let tasks = works.map { work in
      Task { () throws -> [Picture] in try await self.render(work.frame, work.plan) }
    }
    let closing = Task { () -> Int in
      let inFlight = self.living(.fence)
      await self.close()
      return inFlight
    }
    let inFlight = await closing.value
    var results: [Result<[Picture], any Error>] = []
    for task in tasks { results.append(await task.result) }
    return (results, inFlight)
  }
}
