// Whatever a session is asked, in whatever order: what is hidden is in no picture, nor what lies outside a crop.
import Foundation
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview

/// The seeds that are tried: the first is `GLPREVIEW_PRIVACY_SEED`, 1 unless told, and there are `GLPREVIEW_PRIVACY_SEEDS`.
func privacySeeds(_ usual: Int) -> Range<Int> {
  let environment = ProcessInfo.processInfo.environment
  let first = environment["GLPREVIEW_PRIVACY_SEED"].flatMap { Int($0) } ?? 1
  return first..<first + (environment["GLPREVIEW_PRIVACY_SEEDS"].flatMap { Int($0) } ?? usual)
}

@Suite("Privacy of a session", .serialized)
struct SessionPrivacyTests {
  @Test("no picture of a random session shows masked areas or the outside of a crop")
  func seeds() async throws {
    var (seen, failed) = (0, 0)

    for seed in privacySeeds(40) {
      let round = try SessionRound(seed: UInt64(seed))
      let result = try await round.run()
      seen += result.pictures
      failed += result.leaks.isEmpty ? 0 : 1
      #expect(result.leaks.isEmpty, "seed \(seed), after: \(result.steps.joined(separator: "; "))")
    }

    // Where nothing is seen, nothing is shown to be hidden.
    #expect(seen >= privacySeeds(40).count)
    print(
      "What a session hides: \(privacySeeds(40).count) seeds, \(seen) pictures, \(failed) seeds with a leak")
  }
}

/// One session, and what is asked of it.
private final class SessionRound: Sendable {
  private let session: PreviewSession
  private let sensor: PrivacySensor
  private let options: SourceOptions
  private let numbers: Mutex<SeededGenerator>
  private let record = Mutex(Record())

  struct Record: Sendable {
    var steps: [String] = []
    var leaks: [String] = []
    var pictures = 0
  }

  private struct RemoteView {
    let preview: Preview
    let readers: [Task<Void, Never>]
  }

  init(seed: UInt64) throws {
    var numbers = SeededGenerator(seed: seed)
    sensor = PrivacySensor(
      hasSizes: Int.random(in: 0..<3, using: &numbers) > 0, givesJPEGs: Bool.random(using: &numbers))
    var options = SourceOptions()
    if Bool.random(using: &numbers) { options.masks = PrivacyScene.masks }
    // Of a source without a choice it is said, or its first frame is of that size.
    if !sensor.hasSizes, Bool.random(using: &numbers) { options.referenceSize = PrivacyScene.reference }
    self.options = options
    let linger = Duration.milliseconds(Int.random(in: 0...3, using: &numbers))
    let source = Self.source(sensor, options, keepsWarm: Int.random(in: 0..<4, using: &numbers) == 0)
    var sessionOptions = PreviewSession.Options(linger: linger)
    sessionOptions.text = nil
    session = try PreviewSession([source], options: sessionOptions)
    self.numbers = Mutex(numbers)
    let kind =
      (sensor.hasSizes ? "a camera with sizes" : "a camera without") + (sensor.givesJPEGs ? ", JPEGs" : "")
    let masks = options.masks.isEmpty ? "no masks" : "masks"
    step("\(kind), \(masks), reference \(options.referenceSize.map { "\($0)" } ?? "found out")")
  }

  private static func source(_ sensor: PrivacySensor, _ options: SourceOptions, keepsWarm: Bool)
    -> SessionSource
  {
    var source = sensor.source(named: "camera", options)
    source.keepsWarm = keepsWarm
    source.showsFailures = true
    source.opensWithin = .milliseconds(5)
    source.fallback = Fallback(always: .lastFrameDimmed)
    return source
  }

  private func random(_ range: Range<Int>) -> Int { numbers.withLock { Int.random(in: range, using: &$0) } }

  private func step(_ words: String) { record.withLock { $0.steps.append(words) } }

  func run() async throws -> Record {
    var guests: [RemoteView] = []
    for number in 0..<random(8..<18) {
      try await act(number, &guests)
      if random(0..<3) > 0 { try await Task.sleep(for: .milliseconds(random(0..<12))) }
    }
    try await Task.sleep(for: .milliseconds(20))
    for reader in guests.flatMap(\.readers) { reader.cancel() }
    await session.close()
    for reader in guests.flatMap(\.readers) { await reader.value }
    return record.withLock { $0 }
  }

  private func act(_ number: Int, _ guests: inout [RemoteView]) async throws {
    switch random(0..<14) {
    case 0...3: guests.append(try addView("v\(number)"))
    case 4: guests.append(try addScene("s\(number)"))
    case 5: change(guests)
    case 6, 7: await takeSnapshot(guests)
    case 8:
      step("the connection breaks")
      sensor.lose()
    case 9:
      let size = PrivacySensor.ownSizes[random(0..<PrivacySensor.ownSizes.count)]
      // The first frame of a source that says nothing is the reference.
      guard sensor.hasSizes || options.referenceSize != nil || session.sources.first?.size != nil else {
        return
      }
      step("the source is \(size) by itself")
      sensor.change(to: size)
    case 10:
      step("the source is as it was")
      sensor.change(to: nil)
    case 11:
      step("off and on")
      await session.sources.first?.setEnabled(false)
      if random(0..<2) == 0 { try await Task.sleep(for: .milliseconds(5)) }
      await session.sources.first?.setEnabled(true)
    case 12:
      guard !guests.isEmpty else { return }
      let guest = guests.remove(at: random(0..<guests.count))
      step("\(guest.preview.name) goes")
      session.remove(guest.preview)
      for reader in guest.readers { await reader.value }
    default:
      step("the source is made anew")
      sensor.change(to: nil)
      await session.removeSource("camera")
      for reader in guests.flatMap(\.readers) { reader.cancel() }
      for reader in guests.flatMap(\.readers) { await reader.value }
      for guest in guests { session.remove(guest.preview) }
      guests = []
      try session.addSource(Self.source(sensor, options, keepsWarm: false))
    }
  }

  // MARK: Views

  /// A crop that lies within what may be seen.
  private func crop() -> Rectangle {
    let whole = PrivacyScene.crop
    let (width, height) = (random(2..<whole.width + 1), random(2..<whole.height + 1))
    return Rectangle(
      x: whole.x + random(0..<whole.width - width + 1), y: whole.y + random(0..<whole.height - height + 1),
      width: width, height: height)
  }

  /// Of a preview whose name says whether it shows a part.
  private func view(_ name: String, isCropped: Bool) -> ViewConfiguration {
    var view = ViewConfiguration(name: name)
    if isCropped { view.crop = random(0..<2) == 0 ? PrivacyScene.crop : crop() }
    if random(0..<4) > 0 { view.width = random(4..<50) }
    if random(0..<4) == 0 { view.height = random(4..<50) }
    view.contentMode = [.fill, .fit, .stretch][random(0..<3)]
    view.rotation = [.none, .none, .clockwise90, .half][random(0..<4)]
    guard random(0..<3) == 0 else { return view }
    let plain = view
    return numbers.withLock { plain.warped(in: PrivacyScene.reference, by: &$0) }
  }

  private func addView(_ name: String) throws -> RemoteView {
    let isCropped = random(0..<2) == 0
    let view = view(isCropped ? "part-\(name)" : name, isCropped: isCropped)
    step(
      "view \(view.name) \(view.crop.map { "of \($0) " } ?? "")as \(view.width ?? 0)x\(view.height ?? 0)"
        + view.warpInWords)
    let preview = try session.addPreview(view).preview
    return RemoteView(preview: preview, readers: (0..<random(0..<3)).map { _ in read(preview) })
  }

  private func addScene(_ name: String) throws -> RemoteView {
    let isCropped = random(0..<2) == 0
    var tile = Tile("camera", view: view("main", isCropped: isCropped))
    tile.replicator =
      random(0..<2) == 0
      ? Replicator(instanceCount: 3, opacityOffset: -0.1, delay: .milliseconds(random(0..<8))) : nil
    let scene = Scene(size: Size(width: random(16..<64), height: random(16..<64)), tiles: [tile])
    let label = isCropped ? "part-\(name)" : name
    step(
      "scene \(label) \(scene.size) \(tile.view.crop.map { "of \($0)" } ?? "")\(tile.view.warpInWords)")
    let preview = try session.addScene(scene, name: label).preview
    return RemoteView(preview: preview, readers: (0..<random(0..<3)).map { _ in read(preview) })
  }

  private func change(_ guests: [RemoteView]) {
    guard !guests.isEmpty else { return }
    let preview = guests[random(0..<guests.count)].preview
    guard preview.configuration.view != nil else { return }
    let isCropped = preview.name.hasPrefix("part-")
    let view = view(preview.name, isCropped: isCropped)
    step(
      "\(view.name) is \(view.crop.map { "of \($0) " } ?? "")as \(view.width ?? 0)x\(view.height ?? 0) now"
        + view.warpInWords)
    preview.update { $0.view = view }
  }

  // MARK: Looking

  private func read(_ preview: Preview) -> Task<Void, Never> {
    let format: Picture.Format = [.rgba, .ycbcr(.yuv420), .ycbcr(.yuv444)][random(0..<3)]
    let isEncoded = random(0..<2) == 0
    return Task {
      while !Task.isCancelled {
        var frames = PreviewPictures(preview, as: format).makeAsyncIterator()
        do {
          while let picture = try await frames.nextPicture(passes: isEncoded) {
            switch picture {
            case .drawn(let frame): try await self.look(at: frame, isEncoded)
            case .original(let original, _):
              // H.264 is for readers of videos only.
              let file = try #require(original.jpeg).bytes
              self.look(at: try PrivacyLeak(inFile: file), in: preview.name, "a passed picture")
            }
          }
          return
        } catch {
          // Such as a camera that gives nothing at all: the next one may.
          try? await Task.sleep(for: .milliseconds(1))
        }
      }
    }
  }

  private func look(at frame: RenderedPicture, _ isEncoded: Bool) async throws {
    look(
      at: PrivacyLeak(in: frame.picture), in: frame.name,
      "a picture (\(frame.sourceState.rawValue))")
    // The bars of NO SIGNAL have colours of their own, and a JPEG mixes them.
    guard isEncoded, frame.sourceState == .live else { return }
    let encoded = try await frame.picture.format == .rgba ? frame.png() : frame.jpeg(quality: 95)
    look(at: try PrivacyLeak(inFile: encoded.bytes), in: frame.name, "a file")
  }

  private func look(at leak: PrivacyLeak, in name: String, _ what: String) {
    let isHidden = leak.contains(.hidden) && !options.masks.isEmpty
    let isOutside = name.hasPrefix("part-") && !leak.isEmpty
    record.withLock { record in
      record.pictures += 1
      guard isHidden || isOutside, record.leaks.count < 5 else { return }
      record.leaks.append("\(name): \(what)")
      record.steps.append("LEAK in \(what) of \(name)")
    }
  }

  private func takeSnapshot(_ guests: [RemoteView]) async {
    let modes: [SnapshotRequest.Mode] = [
      .newest, .newest(maxAge: .zero), .next, .still(settling: 1), .still(settling: 0),
    ]
    let policies: [SnapshotRequest.FallbackPolicy] = [.placeholder, .lastFrame, .error]
    let (mode, policy) = (modes[random(0..<modes.count)], policies[random(0..<policies.count)])
    let format: Picture.Format = random(0..<2) == 0 ? .rgba : .ycbcr(.yuv420)
    step("snapshot \(mode), \(policy)")
    let request = SnapshotRequest(mode, as: format, fallback: policy, timeout: .milliseconds(500))
    guard let snapshot = try? await session.snapshot(request) else { return }
    for picture in snapshot.pictures {
      look(at: PrivacyLeak(in: picture.picture), in: picture.name, "a snapshot")
      guard snapshot.sourceState == .live,
        let thumbnail = try? picture.encodedJPEG(
          quality: 95, maxBytes: 5000, fitting: Size(width: 24, height: 24)),
        let leak = try? PrivacyLeak(inFile: thumbnail.bytes)
      else { continue }
      look(at: leak, in: picture.name, "a thumbnail")
    }
  }
}

extension ViewConfiguration {
  /// Its warp in words, so that a step can be repeated.
  var warpInWords: String {
    guard isWarped else { return "" }
    var words = [" \(filter)"]
    if let corners { words.append("corners=\(corners)") }
    if angle != 0 { words.append("turned by \(angle)") }
    if let projection { words.append("\(projection) through \(lens.map { "\($0)" } ?? "no lens")") }
    return words.joined(separator: " ")
  }
}
