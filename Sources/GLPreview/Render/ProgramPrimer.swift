// Compiles the programs of views that may be requested, before they are.
internal import Shaders
internal import Synchronization

/// Fills the caches on disk, the driver's and `ProgramBinaryCache`, with the programs that other views of the
/// same frames would need, so that no request of a running service waits for a compiler, and no viewer is
/// held up meanwhile.
///
/// It draws small pictures on its own context, on a thread of the lowest priority, and closes it, because
/// each of llvmpipe's programs takes megabytes, and contexts share none. That is done once for each driver
/// and format of frames, and not at all where software has no second display (`GPUDevice.beside`). Measured
/// on Mesa 22.3 with two cores, beside a stream, with requests for 80 random sizes of RGBA: the stream's
/// longest gap is 0.11 s instead of 0.22 s; filling takes 5 s of one core.
final class ProgramPrimer: Sendable {
  private let state = Mutex(State())

  private struct State {
    var seen: Set<PixelFormat> = []
    var task: Task<Void, Never>?
    var isEnded = false
  }

  /// Begins to fill the caches for frames of `format`, once, after those seen before.
  func saw(_ format: PixelFormat, on device: GPUDevice) {
    // The CPU has no programs. Without a cache folder, nothing would be kept.
    guard device.kind != .cpu, CacheBase.ofThisProcess != nil else { return }
    state.withLock { state in
      guard !state.isEnded, state.seen.insert(format).inserted else { return }
      state.task = Task { [before = state.task] in
        await before?.value
        // An error here occurs again when the view is requested, and is reported then.
        try? await Self.fill(for: format, on: device)
      }
    }
  }

  /// Stops after the picture that is being drawn.
  func end() {
    state.withLock { state in
      state.isEnded = true
      state.task?.cancel()
    }
  }

  private static func fill(for format: PixelFormat, on device: GPUDevice) async throws {
    guard let folder = CacheFolder.ofThisProcess, let driver = device.driver else { return }
    let name =
      ProgramBinaryKey(
        sources: ["primed", format.rawValue, device.passes?.rawValue ?? ""] + ShaderSource.texts,
        driver: [driver.renderer, driver.versionText]
      ).name + CacheFolder.suffix
    guard folder.read(name, limit: note.count) != note else { return }
    guard let renderer = try await GLRenderer.openInBackground(on: device) else { return }
    do {
      try await draw(format, on: renderer)
      // Releasing memory draws with a program, too.
      await renderer.removeCached()
    } catch {
      await renderer.close()
      throw error
    }
    await renderer.close()
    folder.write(note, to: name)
  }

  /// The content of a file whose name identifies what was compiled. If the driver's own cache is emptied
  /// later, programs are compiled when they are needed.
  private static let note = Array("primed".utf8)

  private static func draw(_ format: PixelFormat, on renderer: GLRenderer) async throws {
    let size = Size(width: 192, height: 108)
    let frameFormat = Frame.Format(format, size, color: .jfif)
    let count = format.planes.reduce(0) { $0 + $1.tightBytesPerRow(of: size) * $1.texels(of: size).height }
    // Frames whose pixels are all opaque are drawn like frames without alpha.
    for byte in format.isTransparent ? [0, 255] as [UInt8] : [0] {
      let frame = try Frame(tight: frameFormat, bytes: [UInt8](repeating: byte, count: count))
      for index in 0..<Self.count {
        try Task.checkCancellation()
        if index == 0 { try await code(frame, on: renderer) }
        // Compute shaders write a view that is shown twice to a target, and others to a buffer.
        for count in renderer.device.passes == .compute ? 1...2 : 1...1 {
          let views = Array(repeating: view(index), count: count)
          let plan = try renderer.plan(frameFormat, views, as: output(index))
          _ = try await renderer.render(frame, plan)
        }
      }
      for index in 0..<2 {
        try Task.checkCancellation()
        let plan = try renderer.plan(frameFormat, [warpedView], as: output(index))
        _ = try await renderer.render(frame, plan)
      }
    }
  }

  /// The programs of warped views depend neither on the warp nor on the filter.
  private static let warpedView = ViewConfiguration(width: 40, height: 23, angle: 10)

  /// Codes a picture, and one within a budget, if the renderer codes.
  private static func code(_ frame: Frame, on renderer: GLRenderer) async throws {
    for budget in [nil, 2000] {
      let coding = PictureCoding(quality: 80, maximumBytes: budget)
      let plan = try renderer.planned(
        frame.format, [ViewConfiguration(width: 64)], as: .ycbcr(.yuv420), coding: coding)
      _ = try await renderer.render(frame, plan)
    }
  }

  /// More views would need no further program; measured with 500 random views of a service.
  private static let count = 900

  /// Returns one of many views, as different as can be: filters, sizes, turns and bars in all combinations.
  /// llvmpipe has variants of a program for tables whose sides are powers of two, so some sizes are powers of
  /// two, and some are not.
  private static func view(_ index: Int) -> ViewConfiguration {
    var rest = index &* 7919
    func pick<Choice>(_ choices: [Choice]) -> Choice {
      defer { rest /= choices.count }
      return choices[rest % choices.count]
    }
    return ViewConfiguration(
      rotation: pick([.none, .clockwise90]), width: pick([40, 16, 250, 37, 8]), height: pick([23, 16, 140]),
      contentMode: pick([.fill, .fit]), filter: pick(Filter.allCases),
      light: pick([.encoded, .encoded, .linear]))
  }

  private static func output(_ index: Int) -> Picture.Format {
    [.ycbcr(.yuv420), .rgba, .ycbcr(.yuv420), .video][index % 4]
  }
}
