// The one place where a source's frames lose what nobody is to see: between what captures or decodes and all else.
internal import PreviewCore
internal import Synchronization

/// Burns a source's masks into its frames.
final class FrameMasker: Sendable {
  private let masks: PrivacyMasks
  private let state: Mutex<State>

  private struct State {
    /// Once it is known, it stays.
    var reference: Size?
    /// For frames as the last one was.
    var plan: MaskPlan?
  }

  /// `options` say what is hidden, and where that is known before any frame, in pixels of which size.
  init(_ options: SourceOptions) {
    masks = options.masks
    state = Mutex(State(reference: options.referenceSize))
  }

  /// Refuses what no frame is needed to refuse.
  static func check(_ options: SourceOptions, of name: String) throws(SourceError) {
    let masks = options.masks
    let sides = 1...Size.maximumSide
    for size in [options.referenceSize, masks.referenceSize].compactMap(\.self) {
      guard sides.contains(size.width), sides.contains(size.height) else {
        throw SourceError(
          .badRequest, path: name, reason: "a reference size of \(size) is not valid")
      }
    }
    guard let size = masks.referenceSize ?? options.referenceSize, !masks.isEmpty else { return }
    do throws(WordError) {
      try masks.check(in: size)
    } catch {
      throw SourceError(.badRequest, path: name, reason: error.description)
    }
  }

  /// The source's reference size, where that is found out as it is opened; later ones change nothing.
  func refer(to size: Size?) { state.withLock { $0.reference = $0.reference ?? size } }

  /// The frame without what is hidden; itself where nothing is.
  ///
  /// - Throws: `WordError` of key `mask`; then nothing of the frame may be seen.
  func masked(_ frame: consuming Frame) throws(WordError) -> Frame {
    guard !masks.isEmpty else { return frame }
    let format = frame.format
    let plan = try state.withLock { state throws(WordError) in
      if let plan = state.plan, plan.format == format { return plan }
      let reference = state.reference ?? format.uprightSize
      let plan = try MaskPlan(masks, reference: reference, format: format)
      (state.reference, state.plan) = (reference, plan)
      return plan
    }
    return frame.masked(by: plan)
  }
}

/// A source that is not live, with masks.
struct MaskedSource: FrameSource {
  private let source: any FrameSource
  private let masker: FrameMasker

  init(_ source: any FrameSource, _ options: SourceOptions) {
    self.source = source
    masker = FrameMasker(options)
  }

  var name: String { source.name }

  var framesPerSecond: Double? { get async { await source.framesPerSecond } }

  var referenceSize: Size? { get async { await source.referenceSize } }

  func nextFrame() async throws -> Frame? {
    guard let frame = try await source.nextFrame() else { return nil }
    masker.refer(to: await source.referenceSize)
    do throws(WordError) {
      return try masker.masked(frame)
    } catch {
      throw SourceError(.badRequest, path: name, reason: error.description)
    }
  }

  func rewind() async throws { try await source.rewind() }

  func close() async { await source.close() }
}
