// Pictures that the renderer codes, for readers of JPEGs, of samples and of both.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Coded pictures in sessions", .timeLimit(.minutes(15)))
struct CodedPictureTests {
  /// Renderers that code JPEGs; nil if the tests' device can't.
  private static func renderers() async throws -> SharedRenderers? {
    let device = try await GPUDevice.chooseForGL()
    guard let tuning = device.tuningForCoding else { return nil }
    return SharedRenderers(keepsFor: .seconds(3600)) { _ in
      try await GLRenderer.open(on: device, tuning: tuning)
    }
  }

  private static func session(
    _ script: SourceScript, _ renderers: SharedRenderers
  ) throws -> (SessionCore, Preview) {
    var options = PreviewSession.Options(gpu: .llvmpipe, linger: .zero)
    options.renderers = renderers
    let core = try SessionCore([script.source()], options)
    let view = ViewConfiguration(width: 40, height: 30)
    return (core, try core.add("main", PreviewConfiguration(.view(view, of: "camera"))))
  }

  private static func reader(_ preview: Preview, _ quality: Int?) -> PreviewPictures.Iterator {
    var reader = preview.pictures(for: .jpeg).makeAsyncIterator()
    reader.coding = quality.map { PictureCoding(quality: $0) }
    return reader
  }

  @Test("each reader gets what it needs of the same pictures, in any order and at once")
  func readers() async throws {
    guard let renderers = try await Self.renderers() else { return }
    let script = SourceScript()
    let (core, preview) = try Self.session(script, renderers)
    // Keeps the source open, and waits for its frames.
    var keeper = preview.pictures.makeAsyncIterator()
    let orders: [[Int?]] = [[80, nil, 40], [nil, 80], [40, 80, nil], [80], [80, 40]]
    for (index, order) in orders.enumerated() {
      script.give(UInt8(40 + index))
      _ = try await keeper.next()
      var files: [Int: [UInt8]] = [:]
      for quality in order {
        var reader = Self.reader(preview, quality)
        let picture = try #require(try await reader.next())
        #expect(quality != nil || picture.picture.planes.count == 3)
        for wanted in [quality, quality == nil ? 80 : nil].compactMap(\.self) {
          let file = try await picture.jpeg(quality: wanted).bytes
          #expect(files[wanted] ?? file == file, "\(wanted) of \(order)")
          files[wanted] = file
        }
      }
      // All at once, of one drawing.
      script.give(UInt8(60 + index))
      _ = try await keeper.next()
      let pictures = try await withThrowingTaskGroup(of: (Int?, RenderedPicture?).self) { group in
        for quality in order {
          var reader = Self.reader(preview, quality)
          group.addTask { (quality, try await reader.next()) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      for (quality, picture) in pictures {
        let picture = try #require(picture)
        #expect(try await picture.jpeg(quality: quality ?? 70).size == Size(width: 40, height: 30))
        #expect(quality != nil || picture.picture.planes.count == 3)
      }
    }
    #expect(core.counters.now.coded > 0)
    await core.close()
    await renderers.closeUnused()
  }

  @Test("a snapshot takes the coded picture that a stream has, and draws another if it needs samples")
  func snapshots() async throws {
    guard let renderers = try await Self.renderers() else { return }
    let script = SourceScript()
    let (core, preview) = try Self.session(script, renderers)
    script.give(77)
    var reader = Self.reader(preview, 80)
    let streamed = try #require(try await reader.next())
    #expect(streamed.picture.scan?.quality == 80 && streamed.picture.planes.isEmpty)
    let moment = try await preview.moment(SnapshotRequest(.newest(maxAge: .seconds(3600))))
    let coded = try await moment.draw([preview], coding: PictureCoding(quality: 80))[0]
    #expect(coded.picture == streamed.picture)
    let other = try await moment.draw([preview], coding: PictureCoding(quality: 50))[0]
    #expect(other.picture.scan?.quality == 50)
    let samples = try await moment.draw([preview])[0]
    #expect(samples.picture.planes.count == 3)
    let files = [try await streamed.jpeg(quality: 80), try await samples.jpeg(quality: 80)].map(\.bytes)
    #expect(files[0] == files[1])
    let small = try await moment.draw([preview], coding: PictureCoding(quality: 90, maximumBytes: 1400))[0]
    #expect(try await small.jpeg(quality: 90, maxBytes: 1400).bytes.count <= 1400)
    #expect(small.picture.planes.count == 3 && small.picture.scan?.maximumBytes == 1400)
    await core.close()
    await renderers.closeUnused()
  }

  @Test("a scene is coded for its stream, and has samples for others")
  func scene() async throws {
    guard let renderers = try await Self.renderers() else { return }
    let script = SourceScript()
    let (core, _) = try Self.session(script, renderers)
    let scene = Scene(size: Size(width: 64, height: 48), tiles: [Tile("camera")])
    let preview = try core.add("scene", PreviewConfiguration(.scene(scene)))
    script.give(90)
    var (coded, plain) = (Self.reader(preview, 80), Self.reader(preview, nil))
    let file = try await #require(try await coded.next()).jpeg(quality: 80)
    #expect(file.size == scene.size)
    #expect(try await plain.next()?.picture.planes.count == 3)
    #expect(try await preview.drawScene(within: .seconds(60)).picture.planes.count == 3)
    await core.close()
    await renderers.closeUnused()
  }
}
