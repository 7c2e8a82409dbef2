// The one place where a source's frames lose what nobody is to see: between what captures or decodes and all else.
internal import PreviewCore
internal import Synchronization

/// Burns a source's masks into its frames.
final class FrameMasker: Sendable {
  private let masks: PrivacyMasks
  private let state = Mutex(State())

  private struct State {
    /// Of the first frame.
    var reference: Size?
    /// For frames as the last one was.
    var plan: MaskPlan?
  }

  init(_ masks: PrivacyMasks) { self.masks = masks }

  /// Refuses what no frame is needed to refuse.
  static func check(_ masks: PrivacyMasks, of name: String) throws(SourceError) {
    guard let size = masks.referenceSize, !masks.isEmpty else { return }
    guard size.width > 0, size.height > 0 else {
      throw SourceError(.badRequest, path: name, reason: "masks for a source of \(size) hide nothing")
    }
    do throws(ViewError) {
      try masks.check(in: size)
    } catch {
      throw SourceError(.badRequest, path: name, reason: error.description)
    }
  }

  /// The frame without what is hidden; itself where nothing is.
  ///
  /// - Throws: `ViewError` of key `mask`; then nothing of the frame may be seen.
  func masked(_ frame: consuming Frame) throws(ViewError) -> Frame {
    guard !masks.isEmpty else { return frame }
    let format = frame.format
    let plan = try state.withLock { state throws(ViewError) in
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

  init(_ source: any FrameSource, _ masks: PrivacyMasks) {
    self.source = source
    masker = FrameMasker(masks)
  }

  var name: String { source.name }

  var framesPerSecond: Double? { get async { await source.framesPerSecond } }

  func nextFrame() async throws -> Frame? {
    guard let frame = try await source.nextFrame() else { return nil }
    do throws(ViewError) {
      return try masker.masked(frame)
    } catch {
      throw SourceError(.badRequest, path: name, reason: error.description)
    }
  }

  func rewind() async throws { try await source.rewind() }

  func close() async { await source.close() }
}
