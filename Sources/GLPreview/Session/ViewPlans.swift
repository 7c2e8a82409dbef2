// The plans of one source's views: made once for a format, with crops in pixels of its reference size.
package import PreviewCore
internal import Synchronization

/// The plans of one source's views, in pixels of which size their crops are, and the memory that its frames are made in.
package final class ViewPlans: Sendable {
  let memory: FramePool
  /// Whether the source has a choice of sizes: in another than its reference size it may show another part.
  private let hasSizes: Bool
  private let state: Mutex<State>

  private struct State {
    /// Upright; crops are in its pixels. Once it is known, it stays.
    var reference: Size?
    /// The size of frames of a source that was to take its reference size: a camera that has no such size takes another.
    var pinned: Size?
    var plans = LRUCache<Key, RenderPlan>(capacity: 16)
    weak var mappedMemory: GLRenderer?
  }

  private struct Key: Hashable {
    let format: FrameFormat
    let requests: [ViewRequest]
  }

  /// Of a source that is read as `options` say, and that is asked for one size only unless `hasSizes`. Its frames are made
  /// in `memory`.
  package init(of options: SourceOptions, hasSizes: Bool = false, memory: FramePool) {
    self.memory = memory
    self.hasSizes = hasSizes
    state = Mutex(State(reference: options.referenceSize ?? options.masks.referenceSize))
  }

  /// The size in whose pixels crops are; nil before it is known.
  var knownReference: Size? { state.withLock { $0.reference } }

  /// A frame has come, of a source that says that its reference size is `reference`, or leaves that to its first frame.
  package func sawFrame(of format: FrameFormat, reference: Size?, isPinned: Bool = false) {
    state.withLock { state in
      state.reference = state.reference ?? reference ?? format.uprightSize
      if isPinned {
        state.pinned = format.uprightSize
      } else if state.pinned == format.uprightSize {
        // A mode of this size may show another part than what was of this size then.
        state.pinned = nil
      }
    }
  }

  /// Why nobody can tell where a crop lies in frames of a format; nil where it can be told.
  func misfit(_ format: FrameFormat) -> Misfit? {
    let size = format.uprightSize
    let (reference, pinned) = state.withLock { ($0.reference ?? size, $0.pinned) }
    if size == reference { return nil }
    if hasSizes, size != pinned { return .mode(size, reference) }
    return size.hasShape(of: reference) ? nil : .shape(size, reference)
  }

  /// The same for a view: without a crop it shows all of whatever there is.
  func misfit(_ view: ViewConfiguration, _ format: FrameFormat) -> Misfit? {
    view.crop == nil ? nil : misfit(format)
  }

  /// The plan of these views for frames of `format`.
  package func plan(
    _ format: FrameFormat, _ requests: [ViewRequest], _ planner: RenderPlanner
  ) throws(WordError) -> RenderPlan {
    var rescaled: [ViewRequest] = []
    for request in requests {
      rescaled.append(ViewRequest(try self.rescaled(request.view, for: format), as: request.format))
    }
    let key = Key(format: format, requests: rescaled)
    if let plan = state.withLock({ $0.plans[key] }) { return plan }
    let plan = try planner.plan(format, rescaled)
    state.withLock { $0.plans.insert(plan, for: key) }
    return plan
  }

  /// The view in pixels of frames of `format`.
  ///
  /// - Throws: `WordError` of key `crop`, where that lies outside the reference size, or does not fit such frames.
  func rescaled(_ view: ViewConfiguration, for format: FrameFormat) throws(WordError) -> ViewConfiguration {
    guard let crop = view.crop else { return view }
    let reference = knownReference ?? format.uprightSize
    guard crop.isInside(reference) else {
      throw WordError(
        "crop", "\(crop) is not inside the picture, which has \(reference) pixels (view '\(view.name)')")
    }
    if let misfit = misfit(format) { throw WordError("crop", "the source \(misfit.reason)") }
    return view.rescaled(from: reference, to: format.uprightSize)
  }

  /// Lets frames be made where the renderer can read them in place; once for each renderer.
  func lendMemory(of renderer: GLRenderer) async {
    let isNew = state.withLock { state in
      defer { state.mappedMemory = renderer }
      return state.mappedMemory !== renderer
    }
    if isNew { await renderer.lendMemory(to: memory) }
  }

  func end() {
    memory.removeAll()
    state.withLock { $0.plans.removeAll() }
  }
}

/// Why crops can't be drawn of a frame: nobody can tell what they would show.
enum Misfit: Sendable, Hashable {
  /// The camera is in another size than its reference size, for readers without a crop, and is being switched.
  case mode(Size, Size)
  /// The source has another shape now.
  case shape(Size, Size)

  /// For people.
  var reason: String {
    switch self {
    case .mode(_, let reference): "is being switched to \(reference)"
    case .shape(let size, let reference):
      "is \(size) now, and its crops are for \(reference): what they show can't be told"
    }
  }

  /// What stands in for the source.
  func outage(since time: Duration) -> Outage {
    switch self {
    case .mode: Outage(.opening, sinceCapture: time)
    case .shape: Outage(.lost, reason: reason, sinceCapture: time)
    }
  }
}
