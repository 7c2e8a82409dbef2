// Compute shaders code pictures as libjpeg-turbo does.
import Codecs
import Conformance
import PreviewCore
import Testing

@testable import GLPreview

@Suite("JPEG by compute shaders", .timeLimit(.minutes(15)))
struct JPEGCodingTests {
  private static func renderer(_ passes: PassMethod = .fragments) async throws -> GLRenderer {
    let device = try await GPUDevice.chooseForGL()
    var tuning = RenderTuning(
      maximumTargetSide: device.tuning.maximumTargetSide, boxes: .texels,
      transfer: .buffered(framesInFlight: 3), passes: passes)
    tuning.codesJPEG = true
    return try await GLRenderer.open(on: device, tuning: tuning)
  }

  @Test(
    "204 random pictures, and 64 within budgets, are the very bytes of libjpeg-turbo", arguments: 0..<4)
  func identical(part: Int) async throws {
    guard try await ComputeTests.isPossible else { return }
    let renderer = try await Self.renderer(part % 2 == 0 ? .fragments : .compute)
    var coded = 0
    for picture in try CodingSuite.cases(count: 67, seed: 97 + UInt64(part)) {
      let plan = try RenderPlanner(tuning: renderer.tuning).plan(picture.frame.format, picture.requests)
      let pictures = try await renderer.render(picture.frame, plan)
      #expect(try picture.mistake(in: pictures) == nil, "\(picture)")
      if pictures[0].scan != nil { coded += 1 }
    }
    #expect(coded > 55)
    await renderer.close()
  }

  @Test("large pictures are coded, too")
  func large() async throws {
    guard try await ComputeTests.isPossible else { return }
    let renderer = try await Self.renderer()
    for picture in [try CodingSuite.large, try CodingSuite.largest]
    where max(picture.frame.format.size.width, picture.frame.format.size.height)
      <= renderer.tuning.maximumTargetSide
    {
      let plan = try RenderPlanner(tuning: renderer.tuning).plan(picture.frame.format, picture.requests)
      #expect(try picture.mistake(in: await renderer.render(picture.frame, plan)) == nil, "\(picture)")
    }
    await renderer.close()
  }

  private static func frame(_ size: Size, seed: UInt64 = 1) throws -> Frame {
    try Frame.synthetic(Frame.Format(.nv12, size, color: .jfif), .smooth, seed: seed)
  }

  @Test("pictures of a frame are coded together, whatever they are drawn by, each with its metadata")
  func together() async throws {
    guard try await ComputeTests.isPossible else { return }
    let frame = try Self.frame(Size(width: 322, height: 186))
    let views = [
      ViewConfiguration(width: 101, height: 57), ViewConfiguration(rotation: .clockwise90, width: 40),
      ViewConfiguration(width: 64, height: 64, contentMode: .fit, filter: .lanczos),
      // Composed: planes are made of R'G'B' pixels.
      ViewConfiguration(width: 90, height: 50, contentMode: .fit, light: .linear),
    ]
    let requests = views.enumerated().map { index, view in
      ViewRequest(
        view, as: .ycbcr(.yuv420), coding: PictureCoding(quality: 40 + index * 20, keepsSamples: index == 1))
    }
    for passes in PassMethod.allCases {
      let renderer = try await Self.renderer(passes)
      let planner = RenderPlanner(tuning: renderer.tuning)
      let plan = try planner.plan(frame.format, requests)
      let samples = try await renderer.render(
        frame, planner.plan(frame.format, views.map { ViewRequest($0, as: .ycbcr(.yuv420)) }))
      // Several in flight, in buffers that were used before.
      for _ in 0..<2 {
        let all = try await withThrowingTaskGroup(of: [Picture].self) { group in
          for _ in 0..<4 { group.addTask { try await renderer.render(frame, plan) } }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        for pictures in all {
          for (index, (coded, whole)) in zip(pictures, samples).enumerated() {
            let (encoder, time) = (JPEGEncoder(quality: 40 + index * 20), WallTime(capturedAt: .start))
            let profile = [UInt8](repeating: 7, count: 70_000)
            let scan = try #require(coded.scan)
            #expect(
              try encoder.wrap(scan, of: coded, iccProfile: profile, capturedAt: time)
                == encoder.encode(whole, iccProfile: profile, capturedAt: time))
            #expect(coded.planes.count == (index == 1 ? 3 : 0))
          }
        }
      }
      await renderer.close()
    }
  }

  @Test("a picture that grows, or is larger than its samples, comes whole")
  func growing() async throws {
    guard try await ComputeTests.isPossible else { return }
    let renderer = try await Self.renderer()
    let size = Size(width: 640, height: 480)
    let format = Frame.Format(.i420, size, color: .jfif)
    let coding = PictureCoding(quality: 100)
    let plan = try RenderPlanner(tuning: renderer.tuning).plan(
      format, [ViewRequest(ViewConfiguration(), as: .ycbcr(.yuv420), coding: coding)])
    var random = SplitMix64(seed: 3)
    let grey = [UInt8](repeating: 128, count: size.pixelCount * 3 / 2)
    let noise = grey.map { _ in UInt8.random(in: 0...255, using: &random) }
    for (round, bytes) in [grey, noise, grey, noise].enumerated() {
      let picture = try await renderer.render(Frame(tight: format, bytes: bytes), plan)[0]
      let file = try PictureEncoder(.jpeg, quality: 100).encode(picture)
      let samples = Picture(tight: size, format: .ycbcr(.yuv420), bytes: bytes)
      #expect(try file.bytes == JPEGEncoder(quality: 100).encode(samples), "round \(round)")
      #expect(picture.planes.isEmpty && picture.scan != nil)
    }
    await renderer.close()
  }

  @Test("a picture whose scan is larger than its samples comes as these, and the next ones are not tried")
  func misfit() async throws {
    guard try await ComputeTests.isPossible else { return }
    let renderer = try await Self.renderer()
    let size = Size(width: 1920, height: 1088)
    let format = Frame.Format(.yuv444p, size, color: .jfif)
    let planner = RenderPlanner(tuning: renderer.tuning)
    func plan(_ coding: PictureCoding?) throws -> RenderPlan {
      try planner.plan(format, [ViewRequest(ViewConfiguration(), as: .ycbcr(.yuv444), coding: coding)])
    }
    var random = SplitMix64(seed: 3)
    let noise = (0..<size.pixelCount * 3 / 8).flatMap { _ in
      let word = random.next()
      return (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
    let frame = try Frame(tight: format, bytes: noise)
    let samples = try await renderer.render(frame, plan(nil))
    for _ in 0..<2 {
      #expect(try await renderer.render(frame, plan(PictureCoding(quality: 100))) == samples)
    }
    // Another quality is tried.
    #expect(try await renderer.render(frame, plan(PictureCoding(quality: 50)))[0].scan != nil)
    await renderer.close()
  }

  @Test("where there is no memory for coding, the CPU codes")
  func shortage() async throws {
    guard try await ComputeTests.isPossible else { return }
    let frame = try Self.frame(Size(width: 640, height: 480))
    let renderer = try await Self.renderer()
    let plan = try RenderPlanner(tuning: renderer.tuning).plan(
      frame.format,
      [ViewRequest(ViewConfiguration(), as: .ycbcr(.yuv420), coding: PictureCoding(quality: 75))])
    var coded = 0
    // From what is not even enough for drawing to what is enough for all.
    for capacity in stride(from: 1 << 20, through: 8 << 20, by: 1 << 19) {
      await renderer.removeCached()
      do {
        let picture = try await renderer.render(frame, plan, within: MemoryBudget(capacity: capacity))
          .pictures[0]
        if picture.scan != nil { coded += 1 } else { #expect(picture.planes.count == 3 && coded == 0) }
      } catch {
        #expect(error.isOutOfMemory && coded == 0, "\(capacity)")
      }
    }
    #expect((1..<12).contains(coded))
    await renderer.close()
  }

  @Test("the CPU codes pictures where a shader is refused, and for devices that do not code")
  func refused() async throws {
    guard try await ComputeTests.isPossible else { return }
    let frame = try Self.frame(Size(width: 160, height: 120))
    let request = ViewRequest(ViewConfiguration(), as: .ycbcr(.yuv420), coding: PictureCoding(quality: 75))
    let renderer = try await Self.renderer()
    await renderer.refuseComputing(["jpegbits.comp"])
    let plan = try RenderPlanner(tuning: renderer.tuning).plan(frame.format, [request])
    #expect(plan.views[0].coding == request.coding)
    let picture = try await renderer.render(frame, plan)[0]
    #expect(picture.scan == nil && picture.planes.count == 3)
    await renderer.close()
    let other = try RenderPlanner(tuning: GPUDevice.cpu.tuning).plan(frame.format, [request])
    #expect(other.views[0].coding == nil)
    // Neither are R'G'B' pixels and the planes of videos coded.
    var tuning = renderer.tuning
    tuning.codesJPEG = true
    for format in [Picture.Format.rgba, .video] {
      let view = ViewRequest(ViewConfiguration(), as: format, coding: request.coding)
      #expect(try RenderPlanner(tuning: tuning).plan(frame.format, [view]).views[0].coding == nil)
    }
  }

  @Test("a scan makes the files of its size and quality alone, and samples make all others")
  func files() async throws {
    let samples = Picture(
      tight: Size(width: 64, height: 48), format: .ycbcr(.yuv420),
      bytes: (0..<64 * 72).map { UInt8(truncatingIfNeeded: $0 * 7) })
    let file = try JPEGEncoder(quality: 60).encode(samples)
    let start = try #require(file.indices.dropLast().first { file[$0] == 0xFF && file[$0 + 1] == 0xDA })
    let scan = Picture.Scan(quality: 60, bytes: Array(file[(start + 14)..<(file.count - 2)]))
    let coded = Picture(size: samples.size, format: samples.format, scan: scan)
    #expect(try PictureEncoder(.jpeg, quality: 60).encode(coded).bytes == file)
    #expect(throws: PictureEncoder.Failure.self) { try PictureEncoder(.jpeg, quality: 61).encode(coded) }
    #expect(throws: PictureEncoder.Failure.self) {
      try FittedJPEG(coded, quality: 60).encode(fitting: Size(width: 20, height: 20))
    }
    let both = samples.with(scan)
    for quality in [59, 60] {
      #expect(
        try PictureEncoder(.jpeg, quality: quality).encode(both).bytes
          == JPEGEncoder(quality: quality).encode(samples))
    }
    let small = try FittedJPEG(both, quality: 60).encode(maximumBytes: 1500)
    #expect(small.bytes.count <= 1500)
  }
}
