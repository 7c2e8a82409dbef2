// Rendering without a session: the order of pictures, errors, and one result whatever the device does meanwhile.
import PreviewCore
import Synchronization
import Testing

@testable import GLPreview

@Suite("Render pipeline")
struct RenderPipelineTests {
  private static let pattern = "pattern:counter,size=64x48"
  private static let views = [
    ViewConfiguration(name: "a", width: 20, height: 16),
    ViewConfiguration(name: "b", rotation: .clockwise90, filter: .nearest),
  ]

  /// Pictures in the order in which they are delivered.
  private final class Delivered: Sendable {
    private let all = Mutex<[PipelinePicture]>([])

    @Sendable func add(_ picture: PipelinePicture) { all.withLock { $0.append(picture) } }

    var pictures: [PipelinePicture] { all.withLock { $0 } }
    var names: [String] { pictures.map { "\($0.view)\($0.frame)" } }
    var files: [[UInt8]] { pictures.compactMap { $0.file?.bytes } }
  }

  private func delivered(_ transfer: FrameTransfer) async throws -> Delivered {
    let device = try await GPUDevice.chooseForGL()
    let tuning = RenderTuning(maximumTargetSide: device.tuning.maximumTargetSide, transfer: transfer)
    let renderer = try await GLRenderer.open(on: device, tuning: tuning)
    let pipeline = RenderPipeline(Self.views, encoder: PictureEncoder(.png), on: renderer)
    let delivered = Delivered()
    try await pipeline.render(Self.pattern, FrameSchedule(limit: 25, every: 2), to: delivered.add)
    await renderer.close()
    return delivered
  }

  @Test("buffered rendering delivers the same pictures in the same order as direct rendering")
  func framesInFlight() async throws {
    let expected = try await delivered(.direct)
    #expect(expected.names == stride(from: 0, to: 50, by: 2).flatMap { ["a\($0)", "b\($0)"] })
    #expect(expected.pictures.map(\.isLast) == (0..<25).flatMap { _ in [false, true] })
    let turned = expected.pictures.filter { $0.view == "b" }.compactMap { $0.file?.bytes }
    #expect(Set(turned).count == 25, "frames must differ")
    for framesInFlight in [1, 2, 3] {
      let other = try await delivered(.buffered(framesInFlight: framesInFlight))
      #expect(other.names == expected.names && other.files == expected.files)
    }
  }

  @Test("without an encoder samples are delivered in the requested format")
  func samples() async throws {
    let renderer = try await GLRenderer.open(.software)
    let pipeline = RenderPipeline(
      Self.views, encoder: nil, samples: .ycbcr(.yuv444), on: renderer)
    let delivered = Delivered()

    try await pipeline.render(Self.pattern, FrameSchedule(limit: 1), to: delivered.add)

    await renderer.close()
    for picture in delivered.pictures {
      guard case .samples(let samples) = picture.content else {
        Issue.record("\(picture.view) is encoded")
        continue
      }
      #expect(samples.format == .ycbcr(.yuv444) && samples.size == picture.size && picture.file == nil)
    }
    #expect(delivered.pictures.map(\.size) == [Size(width: 20, height: 16), Size(width: 48, height: 64)])
  }

  @Test("views before one that can't be encoded are delivered, and the error names that view")
  func failure() async throws {
    let renderer = try await GLRenderer.open(.software)
    let pipeline = RenderPipeline(
      Self.views, encoder: PictureEncoder(.png, maximumBytes: 1500), on: renderer)
    let delivered = Delivered()

    let failure = await #expect(throws: RenderPipeline.Failure.self) {
      try await pipeline.render("pattern:zoneplate,size=64x48", FrameSchedule(limit: 3), to: delivered.add)
    }

    await renderer.close()
    #expect(failure?.view == "b" && failure?.frame == 0)
    #expect(failure?.description.hasPrefix("view 'b': ") == true)
    #expect(delivered.names == ["a0"])
  }

  @Test("each file gives its pictures or an error, in the order of the files")
  func files() async throws {
    let renderer = try await GLRenderer.open(.software)
    let pipeline = RenderPipeline(Self.views, encoder: PictureEncoder(.jpeg), on: renderer)
    let results = Mutex<[String]>([])
    let files = (0..<20).map { $0 % 3 == 1 ? "/nonexistent/\($0).jpg" : "pattern:smpte,size=\(16 + $0)x16" }

    try await pipeline.render(files: files) { index, result in
      let text =
        switch result {
        case .success(let pictures): pictures.map { "\($0.size)" }.joined(separator: " ")
        case .failure(let error as SourceError): "\(error.kind)"
        case .failure(let error): "\(error)"
        }
      results.withLock { $0.append("\(index): \(text)") }
    }

    await renderer.close()
    #expect(
      results.withLock { $0 }
        == (0..<20).map { $0 % 3 == 1 ? "\($0): notFound" : "\($0): 20x16 16x\(16 + $0)" })
  }

  @Test("views are grouped into one draw up to a pixel limit, and larger views are drawn alone")
  func pieces() {
    let most = FramePiece.mostPixels
    #expect(FramePiece.ranges([10, 20, 30]) == [0..<3])
    #expect(FramePiece.ranges([most, 1, most - 1, most + 5, 1]) == [0..<1, 1..<3, 3..<4, 4..<5])
    #expect(FramePiece.ranges([most + 1]) == [0..<1])
    #expect(FramePiece.ranges([]) == [])
  }
}
