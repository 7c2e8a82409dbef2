// The plans of one source's views: made once for each format, with crops in pixels of the source's reference
// size, and with the source's lens.
internal import Synchronization

/// The plans of one source's views, the reference size of their crops, and the memory of the source's frames.
package final class ViewPlans: Sendable {
  let memory: FramePool
  /// Whether the source has several sizes: at another than its reference size it may show another part of the
  /// scene.
  private let hasSizes: Bool
  /// The lens of views with a projection that have none of their own.
  private let lens: Lens?
  private let state: Mutex<State>

  private struct State {
    /// The upright size whose pixels crops refer to. It stays once it is known.
    var reference: Size?
    /// The upright size of the last frame.
    var latest: Size?
    /// The size of the frames after the reference size was requested: a camera without that size uses
    /// another.
    var pinned: Size?
    var plans = LRUCache<Key, RenderPlan>(capacity: 16)
    /// Plans that were needed once. Those of a moving view stay here, and evict none of the others.
    var newPlans = LRUCache<Key, RenderPlan>(capacity: 16)
    weak var mappedMemory: (any DeviceRenderer)?

    /// Returns a known plan, which is kept longer if it is needed again.
    mutating func plan(_ key: Key) -> RenderPlan? {
      if let plan = plans[key] { return plan }
      guard let plan = newPlans[key] else { return nil }
      newPlans.removeValue(for: key)
      plans.insert(plan, for: key)
      return plan
    }
  }

  private struct Key: Hashable {
    let format: Frame.Format
    let requests: [ViewRequest]
  }

  /// Creates the plans of a source with these options. A source without `hasSizes` has only one size. Its
  /// frames are allocated from `memory`.
  package init(of options: SourceOptions, hasSizes: Bool = false, memory: FramePool) {
    self.memory = memory
    self.hasSizes = hasSizes
    lens = options.lens
    state = Mutex(State(reference: options.referenceSize))
  }

  /// The size whose pixels crops refer to; nil before it is known.
  var knownReference: Size? { state.withLock { $0.reference } }

  /// The upright size of the last frame; nil before the first.
  var latestSize: Size? { state.withLock { $0.latest } }

  /// Records the upright size of a frame. `reference` is the source's reference size; nil means the size of
  /// its first frame.
  package func sawFrame(of size: Size, reference: Size?, isPinned: Bool = false) {
    state.withLock { state in
      state.reference = state.reference ?? reference ?? size
      state.latest = size
      if isPinned {
        state.pinned = size
      } else if state.pinned == size {
        // A mode of this size may show another part than the pinned frames of this size did.
        state.pinned = nil
      }
    }
  }

  /// Returns why crops can't be located in frames of a format; nil if they can.
  func misfit(_ format: Frame.Format) -> CropMismatch? { misfit(format.uprightSize) }

  /// Returns why crops can't be located in frames of an upright size; nil if they can.
  func misfit(_ size: Size) -> CropMismatch? {
    let (reference, pinned) = state.withLock { ($0.reference, $0.pinned) }
    guard let reference else { return .unknown }
    if size == reference { return nil }
    if hasSizes, size != pinned { return .mode(size, reference) }
    return size.hasShape(of: reference) ? nil : .shape(size, reference)
  }

  /// Returns why a view's crop can't be located in frames of a format; nil without a crop, because the view
  /// then shows the whole frame.
  func misfit(_ view: ViewConfiguration, _ format: Frame.Format) -> CropMismatch? {
    view.isCropped ? misfit(format) : nil
  }

  /// Returns the outage to show instead of a frame in which warped views can't be drawn; nil if they can.
  func refusal(of views: [ViewConfiguration], in frame: Frame) -> Outage? {
    do throws(ParameterError) {
      for view in views { _ = try rescaled(view, for: frame.format).shown(in: frame.format.uprightSize) }
      return nil
    } catch {
      return Outage(.lost, reason: error.description, sinceCapture: frame.timestamp)
    }
  }

  /// Returns the plan of these views, with their labels, for a frame of `format` that was captured at `time`.
  package func plan(
    _ format: Frame.Format, at time: CaptureInstant, _ requests: [ViewRequest], _ planner: RenderPlanner,
    text: (any TextRenderer)?
  ) throws(ParameterError) -> RenderPlan {
    var rescaled: [ViewRequest] = []
    for request in requests {
      let view = try self.rescaled(request.view, for: format)
      let layers = try LabelLayers(at: WallClockTime(capturedAt: time), text).layers(
        of: view, format, planner)
      // A renderer that does not code has one plan for all qualities.
      let coding = planner.tuning.codesJPEG == true ? request.coding : nil
      rescaled.append(ViewRequest(view, as: request.format, coding: coding, under: layers))
    }
    let key = Key(format: format, requests: rescaled)
    if let plan = state.withLock({ $0.plan(key) }) { return plan }
    let plan = try planner.plan(format, rescaled)
    state.withLock { $0.newPlans.insert(plan, for: key) }
    return plan
  }

  /// Returns the view with the source's lens, if it has a projection and no lens of its own.
  func withLens(_ view: ViewConfiguration) -> ViewConfiguration { view.withLens(lens) }

  /// Returns the view with its crop or its corners in pixels of frames of `format`, and with its lens.
  ///
  /// - Throws: `ParameterError` if the crop is outside the reference size, or if a crop or a warp can't be located
  ///   in such frames.
  func rescaled(_ view: ViewConfiguration, for format: Frame.Format) throws(ParameterError)
    -> ViewConfiguration
  {
    guard view.isCropped else { return view }
    let key = view.crop == nil ? view.warpKey ?? "crop" : "crop"
    guard let reference = knownReference else {
      throw ParameterError(key, "the source \(CropMismatch.unknown.reason)")
    }
    _ = try view.visiblePart(of: reference)
    if let misfit = misfit(format) { throw ParameterError(key, "the source \(misfit.reason)") }
    return withLens(view).rescaled(from: reference, to: format.uprightSize)
  }

  /// Lets the source's frames be allocated in memory that the renderer can read directly; once for each
  /// renderer.
  func lendMemory(of renderer: any DeviceRenderer) async {
    let isNew = state.withLock { state in
      defer { state.mappedMemory = renderer }
      return state.mappedMemory !== renderer
    }
    if isNew { await renderer.lendMemory(to: memory) }
  }

  func end() {
    memory.removeAll()
    state.withLock { state in
      state.plans.removeAll()
      state.newPlans.removeAll()
    }
  }
}

extension ViewConfiguration {
  /// The key that makes it a warped view (`isWarped`); nil if it is not one.
  var warpKey: String? {
    if projection != nil { return "projection" }
    if corners != nil { return "corners" }
    return angle == 0 ? nil : "rotate"
  }

  /// The view without projection, corners and free rotation, for sources of unknown size.
  package var unwarped: ViewConfiguration {
    var view = self
    (view.projection, view.corners, view.angle) = (nil, nil, 0)
    return view
  }
}

/// Why crops and warps can't be drawn from a frame: the part that they refer to is unknown.
enum CropMismatch: Sendable, Hashable {
  /// The size that they refer to is not known yet.
  case unknown
  /// The camera has another size than its reference size, for readers without a crop, and is being switched.
  case mode(Size, Size)
  /// The source now has another shape.
  case shape(Size, Size)

  /// The reason, for display.
  var reason: String {
    switch self {
    case .unknown: "has sent no frame yet: the parts that its views show can't be placed"
    case .mode(_, let reference): "is being switched to \(reference)"
    case .shape(let size, let reference):
      "is \(size) now, but its views show parts of \(reference): where these are is unknown"
    }
  }

  /// The outage that is shown instead of the source.
  func outage(since time: CaptureInstant) -> Outage {
    switch self {
    case .unknown, .mode: Outage(.opening, sinceCapture: time)
    case .shape: Outage(.lost, reason: reason, sinceCapture: time)
    }
  }
}
