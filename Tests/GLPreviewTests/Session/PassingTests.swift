// A camera's own JPEGs: to whom they are passed on, and that drawn and passed pictures don't stand in each other's way.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Passthrough of camera pictures", .timeLimit(.minutes(15)))
struct PassingTests {
  private static let size = Size(width: 24, height: 16)
  private static let cropped = ViewConfiguration(
    name: "face", crop: Rectangle(x: 0, y: 0, width: 8, height: 8))

  /// A session of a scripted camera. No renderer can be opened in it, unless it may draw.
  private static func session(
    _ device: ScriptedDevice, mayDraw: Bool = false, budget: MemoryBudget? = nil,
    change: (inout SourceOptions) -> Void = { _ in }
  ) throws -> PreviewSession {
    var source = SessionSource(
      name: "camera",
      SessionSource.Origin(isLive: true, hasSizes: false) { LiveSource(device as any CaptureDevice, $0) })
    source.opensWithin = allTheTimeThereIs
    source.keepsWarm = true
    source.options.live = .patient(.every(maximumBytes: 1 << 20))
    change(&source.options)
    var options = PreviewSession.Options.tested(linger: .zero)
    options.budget = budget
    if !mayDraw {
      options.renderers = SharedRenderers { _ in
        throw DeviceError(problem: "nothing may be drawn", attempts: [], hints: [])
      }
    }
    return try PreviewSession([source], options: options)
  }

  private static func reader(_ preview: ViewPreview) -> PreviewPictures.Iterator {
    preview.pictures(for: .jpeg).makeAsyncIterator()
  }

  /// The second picture for a reader of its own, which gets the newest one first.
  private static func second(of preview: ViewPreview) -> Task<PreviewPicture?, any Error> {
    Task {
      var reader = reader(preview)
      _ = try await reader.nextPicture(passes: true)
      return try await reader.nextPicture(passes: true)
    }
  }

  @Test(
    "an unmodified view passes the camera's JPEGs through unchanged, without rendering"
  )
  func whole() async throws {
    let (device, jpeg) = (ScriptedDevice(), try smallJPEG(Self.size))
    let session = try Self.session(device)
    let preview = try session.addPreview()
    device.playWhenOpen(.jpeg(jpeg), .jpeg(jpeg))

    var reader = Self.reader(preview)
    let first = try #require(try await reader.nextPicture(passes: true)?.passed)
    let second = try #require(try await reader.nextPicture(passes: true)?.passed)

    #expect(first.jpeg == EncodedPicture(bytes: jpeg, quality: nil, size: Self.size))
    #expect(second.sequence > first.sequence && second.timestamp >= first.timestamp)
    #expect(session.sources.first?.size == Self.size)
    let statistics = session.statistics
    #expect(statistics.passed == 2 && statistics.renders == 0 && statistics.jpegs == 0)
    await session.close()
  }

  @Test(
    "a view with a crop, rotation, size, filter, mask or colour override is drawn",
    arguments: [
      "crop=8x8+0+0", "rotate=90", "mirror=horizontal", "width=24", "height=16", "filter=mitchell", "mask",
      "color",
    ])
  func drawn(what: String) async throws {
    let (device, jpeg) = (ScriptedDevice(), try smallJPEG(Self.size))
    var view = ViewConfiguration()
    let words = what.split(separator: "=").map(String.init)
    if words.count == 2 { try view.set(words[0], to: words[1]) }
    let session = try Self.session(device, mayDraw: true) { options in
      if what == "mask" {
        options.masks = [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 8, height: 8)))]
      }
      if what == "color" { options.color = ColorDescription.Override(matrix: .bt709) }
    }
    let preview = try session.addPreview(view)
    device.playWhenOpen(.jpeg(jpeg))

    var reader = Self.reader(preview)
    let picture = try await reader.nextPicture(passes: true)

    #expect(picture != nil && picture?.passed == nil)
    #expect(session.statistics.passed == 0)
    await session.close()
  }

  @Test("a JPEG with an EXIF rotation is drawn instead of passed through")
  func refused() async throws {
    let (device, jpeg) = (ScriptedDevice(), try smallJPEG(Self.size))
    let session = try Self.session(device, mayDraw: true)
    let preview = try session.addPreview()
    device.playWhenOpen(.jpeg(inserting(0xE1, Array("Exif\0\0".utf8) + exif(orientation: 6), into: jpeg)))

    var reader = Self.reader(preview)
    let picture = try #require(try await reader.nextPicture(passes: true))

    #expect(picture.passed == nil)
    await session.close()
  }

  @Test("damaged JPEGs are passed through, and drawn despite the damage after more than ten")
  func damaged() async throws {
    let (device, jpeg) = (ScriptedDevice(), try smallJPEG(Self.size))
    let session = try Self.session(device, mayDraw: true)
    let preview = try session.addPreview()
    let drawn = Task { try await preview.pictures(for: .jpeg).first }
    await until { await session.waitingCount == 1 }
    var reader = Self.reader(preview)

    var count = 0
    while session.statistics.pictures == 0, !Task.isCancelled {
      device.playWhenOpen(.jpeg(jpeg, isDamaged: true))
      let picture = try await reader.nextPicture(passes: true)
      #expect(picture?.passed?.jpeg?.bytes == jpeg)
      count += 1
      // What waits for samples has tried to get them.
      await until {
        await session.sources.first?.status?.counters.damaged == count || session.statistics.pictures > 0
      }
    }

    #expect(try await drawn.value?.picture.size == Self.size)
    #expect(count > 10)
    await session.close()
  }

  @Test("passthrough and drawing readers of one camera get the same frames, each drawn once")
  func both() async throws {
    let (device, jpeg) = (ScriptedDevice(), try smallJPEG(Self.size))
    let session = try Self.session(device, mayDraw: true)
    let (whole, face) = (try session.addPreview(), try session.addPreview(Self.cropped))
    var (passed, drawn) = (Self.reader(whole), Self.reader(face))

    for number in 0..<5 {
      device.playWhenOpen(.jpeg(jpeg))
      let picture = try #require(try await passed.nextPicture(passes: true)?.passed)
      let other = try #require(try await drawn.next())
      #expect(picture.sequence == number && other.sequence == number)
      #expect(picture.timestamp == other.timestamp)
    }
    let statistics = session.statistics
    #expect(statistics.passed == 5 && statistics.pictures == 5)
    await session.close()
  }

  @Test("a late reader gets the newest picture drawn, although it was only passed through before")
  func decodedLate() async throws {
    let (device, jpeg) = (ScriptedDevice(), try smallJPEG(Self.size))
    let session = try Self.session(device, mayDraw: true)
    let whole = try session.addPreview()
    device.playWhenOpen(.jpeg(jpeg), .jpeg(jpeg))
    var reader = Self.reader(whole)
    _ = try await reader.nextPicture(passes: true)
    let last = try #require(try await reader.nextPicture(passes: true))
    let waiting = Self.second(of: whole)
    await until { await session.waitingCount == 1 }

    #expect(try await whole.pictures(for: .jpeg).first?.sequence == last.sequence)
    let snapshot = try await session.snapshot(.patient(.newest(maxAge: allTheTimeThereIs)))
    #expect(snapshot.sequence == last.sequence)

    // What is cropped now is never passed on.
    whole.crop = Rectangle(x: 0, y: 0, width: 8, height: 8)
    let cropped = try #require(try await waiting.value)
    #expect(cropped.passed == nil && cropped.sequence == last.sequence)
    await session.close()
  }

  @Test("a disabled camera's placeholder is drawn, and passthrough resumes once it is enabled")
  func outage() async throws {
    let (device, jpeg) = (
      ScriptedDevice([.success([.jpeg(try smallJPEG(Self.size))])]), try smallJPEG(Self.size)
    )
    let session = try Self.session(device, mayDraw: true)
    let preview = try session.addPreview()
    var reader = Self.reader(preview)
    #expect(try await reader.nextPicture(passes: true)?.passed != nil)

    await session.sources.first?.setEnabled(false)
    let off = try #require(try await reader.nextPicture(passes: true))
    #expect(off.passed == nil && off.sourceState == .off)
    #expect(try await off.jpeg(quality: 80).size == Self.size)

    device.connectAgain(.jpeg(jpeg))
    await session.sources.first?.setEnabled(true)
    #expect(try await reader.nextPicture(passes: true)?.passed != nil)
    await session.close()
  }

  @Test("a capture request gets the original JPEG if it accepts originals, and a frame otherwise")
  func moment() async throws {
    let (device, jpeg) = (ScriptedDevice(), try smallJPEG(Self.size))
    let session = try Self.session(device, mayDraw: true)
    let preview = try session.addPreview()
    device.playWhenOpen(.jpeg(jpeg))
    var request = SnapshotRequest.patient(.newest(maxAge: allTheTimeThereIs))
    request.passes = true

    let passed = try await preview.preview.moment(request)
    #expect(passed.passed?.jpeg?.bytes == jpeg && passed.frame == nil && !passed.isFallback)
    #expect(passed.size == Self.size && passed.frameSize == Self.size)
    #expect(session.statistics.renders == 0)

    request.passes = false
    let drawn = try await preview.preview.moment(request)
    #expect(drawn.passed == nil && drawn.frame != nil)
    #expect(drawn.sequence == passed.sequence && drawn.timestamp == passed.timestamp)
    await session.close()
  }

  @Test("a held JPEG counts against the budget, and one without room counts as dropped, not damaged")
  func memory() async throws {
    let (device, jpeg) = (ScriptedDevice(), try smallJPEG(Self.size))
    let budget = MemoryBudget(capacity: jpeg.count)
    let session = try Self.session(device, budget: budget)
    let preview = try session.addPreview()
    var reader = Self.reader(preview)

    device.playWhenOpen(.jpeg(jpeg))
    #expect(try await reader.nextPicture(passes: true)?.passed != nil)
    #expect(budget.reserved == jpeg.count)

    // The last picture is held until the next one is there.
    let waiting = Self.second(of: preview)
    device.playWhenOpen(.jpeg(jpeg))
    await until { await (session.sources.first?.status?.counters.dropped ?? 0) > 0 }
    #expect(await session.sources.first?.status?.counters.damaged == 0)
    #expect(session.statistics.passed == 1)
    waiting.cancel()
    _ = await waiting.result
    await session.close()
    await until { budget.reserved == 0 }
  }

  @Test(
    "a tiny view is drawn from a reduced decode, and a later full-size view from a full decode"
  )
  func reduced() async throws {
    let size = Size(width: 640, height: 360)
    let codes = (0..<size.pixelCount).map { UInt8(($0 % size.width + $0 / size.width) / 4) }
    let flat = [UInt8](repeating: 128, count: size.pixelCount)
    let jpeg = try JPEGEncoder(quality: 95).encode(
      Picture(tight: size, format: .ycbcr(.yuv444), bytes: codes + flat + flat))
    let device = ScriptedDevice()
    let session = try Self.session(device, mayDraw: true)
    let tiny = try session.addPreview(MotionCells.view)
    tiny.preview.update { $0.takesReduced = true }
    let turned = try session.addPreview(ViewConfiguration(name: "turned", rotation: .half))
    device.playWhenOpen(.jpeg(jpeg))

    let small = try #require(try await tiny.pictures(for: .jpeg).first { _ in true }).picture
    #expect(session.statistics.decoded == 1)
    let whole = try #require(try await turned.pictures(for: .jpeg).first { _ in true }).picture

    #expect(session.statistics.decoded == 2 && whole.size == size)
    let cells = try #require(MotionCells(small, at: .start)).luma
    for (cell, code) in cells.enumerated() {
      let (row, column) = cell.quotientAndRemainder(dividingBy: MotionCells.columns)
      let wanted = (Double(column * 10 + row * 10) + 9) / 4
      #expect(abs(Double(code) - wanted) <= 2, "cell \(column), \(row)")
    }
    await session.close()
  }

  @Test("a reduced picture says so, and an exact one of the same frame is not taken from it")
  func reducedThenExact() async throws {
    let size = Size(width: 64, height: 64)
    let jpeg = try JPEGEncoder(quality: 95).encode(
      Picture(tight: size, format: .ycbcr(.yuv444), bytes: [UInt8](repeating: 90, count: 3 * size.pixelCount))
    )
    let device = ScriptedDevice()
    let session = try Self.session(device, mayDraw: true)
    let view = try session.addPreview(ViewConfiguration(width: 16, height: 16))
    view.preview.update { $0.takesReduced = true }
    device.playWhenOpen(.jpeg(jpeg))

    let streamed = try #require(try await view.pictures(for: .jpeg).first { _ in true })
    #expect(streamed.decodedEighths == 2)
    let exact = try await view.preview.moment(.patient(.newest(maxAge: allTheTimeThereIs)))
      .draw([view.preview], as: .ycbcr(.yuv420)).first
    #expect(exact?.decodedEighths == 8 && exact?.sequence == streamed.sequence)
    await session.close()
  }
}

extension PreviewPicture {
  fileprivate var passed: CameraPicture? { if case .original(let picture, _) = self { picture } else { nil } }
}
