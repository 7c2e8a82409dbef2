// Burns privacy masks into a source's frames, after capture or decoding and before anything else.
internal import Synchronization

package final class FrameMasker: Sendable {
  private let masks: [PrivacyMask]
  private let state: Mutex<State>

  private struct State {
    /// Does not change once it is known.
    var reference: Size?
    /// The mask plan for the format of the last frame.
    var plan: MaskPlan?
  }

  /// Takes the masks from `options`, and the reference size if it is known before the first frame.
  package init(_ options: SourceOptions) {
    masks = options.masks
    state = Mutex(State(reference: options.referenceSize))
  }

  /// Checks everything that can be checked without a frame.
  package static func check(_ options: SourceOptions, of name: String) throws(SourceError) {
    guard let size = options.referenceSize else { return }
    let sides = 1...Size.maximumSide
    guard sides.contains(size.width), sides.contains(size.height) else {
      throw SourceError(.badRequest, path: name, reason: "a reference size of \(size) is not valid")
    }
    do throws(ParameterError) {
      try options.masks.check(in: size)
    } catch {
      throw SourceError(.badRequest, path: name, reason: error.description)
    }
  }

  /// Sets the source's reference size if it becomes known when the source opens. Later calls have no effect.
  func refer(to size: Size?) { state.withLock { $0.reference = $0.reference ?? size } }

  /// Returns the frame with its masks burned in; the frame itself if there are no masks.
  ///
  /// - Throws: `ParameterError` with key `mask`; the frame must then not be shown.
  package func masked(_ frame: consuming Frame) throws(ParameterError) -> Frame {
    guard !masks.isEmpty else { return frame }
    let format = frame.format
    let plan = try state.withLock { state throws(ParameterError) in
      if let plan = state.plan, plan.format == format { return plan }
      let reference = state.reference ?? format.uprightSize
      let plan = try MaskPlan(masks, reference: reference, format: format)
      (state.reference, state.plan) = (reference, plan)
      return plan
    }
    return frame.masked(by: plan)
  }
}

/// A masked source that is not live.
package struct MaskedSource: FrameSource {
  private let source: any FrameSource
  private let masker: FrameMasker

  package init(_ source: any FrameSource, _ options: SourceOptions) {
    self.source = source
    masker = FrameMasker(options)
  }

  package var name: String { source.name }

  package var framesPerSecond: Double? { get async { await source.framesPerSecond } }

  package var referenceSize: Size? { get async { await source.referenceSize } }

  package func nextFrame() async throws -> Frame? {
    guard let frame = try await source.nextFrame() else { return nil }
    masker.refer(to: await source.referenceSize)
    do throws(ParameterError) {
      return try masker.masked(frame)
    } catch {
      throw SourceError(.badRequest, path: name, reason: error.description)
    }
  }

  package func rewind() async throws { try await source.rewind() }

  package func close() async { await source.close() }
}
