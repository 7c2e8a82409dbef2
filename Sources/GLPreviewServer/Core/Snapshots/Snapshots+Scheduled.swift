// Takes the snapshots of schedules, of cameras and scenes, whose frames must be captured in time.

/// The time within which the frame of a scheduled snapshot must be captured.
package struct CaptureWindow: Sendable {
  /// The time from its moment to its end.
  fileprivate let length: Duration
  /// Returns once no frame can be in time any more.
  private let end: @Sendable () async throws -> Void
  /// Returns whether a frame that was captured at this time is in time.
  fileprivate let admits: @Sendable (CaptureInstant) -> Bool
  /// Returns whether another frame than the one that was admitted can still be in time.
  fileprivate let reopens: @Sendable () -> Bool

  package init(
    length: Duration, end: @escaping @Sendable () async throws -> Void,
    admits: @escaping @Sendable (CaptureInstant) -> Bool, reopens: @escaping @Sendable () -> Bool
  ) { (self.length, self.end, self.admits, self.reopens) = (length, end, admits, reopens) }

  /// Runs `work`, and cancels it when the window ends.
  ///
  /// - Throws: `LateCapture` after the end; the errors of `work`; `CancellationError`.
  package func run<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let result = Promise<Value>()
    let working = Task {
      do { result.fulfil(.success(try await work())) } catch { result.fulfil(.failure(error)) }
    }
    let ending = Task { [end] in
      try await end()
      result.fulfil(.success(nil))
    }
    defer {
      working.cancel()
      ending.cancel()
    }
    guard let value = try await result.value() else { throw LateCapture() }
    return value
  }
}

/// No frame was captured within the window.
package struct LateCapture: Error, Hashable, CustomStringConvertible {
  package let description = "no frame was captured in time"
}

extension Snapshots {
  /// A snapshot, and the right to each of its pictures.
  package typealias Scheduled = (taken: TakenSnapshot, rights: [PictureRight])

  /// The pause between two attempts while memory is used up.
  private static let memoryPause = Duration.milliseconds(50)

  /// Takes a snapshot of a camera for a schedule, and counts it. If a reload replaces the camera meanwhile, the
  /// snapshot is taken of the new one, within the same timeout. While memory is used up, it is tried again.
  ///
  /// - Parameters:
  ///   - camera: the camera's name.
  ///   - wanted: the request; its timeout counts from the call.
  ///   - window: the time within which the frame must be captured; nil for any time.
  ///   - choose: returns the views, for the camera as it is served then.
  /// - Returns: the snapshot, and the right to each of its pictures; nil if there is no such camera, or `choose`
  ///   returns no view.
  /// - Throws: `LateCapture`; a `Problem`, and other errors of the camera and of drawing.
  package func takeScheduled(
    of camera: String, _ wanted: SnapshotRequest, within window: CaptureWindow? = nil,
    _ choose: (ServedCamera) -> [ServedPreview]
  ) async throws -> Scheduled? {
    try await scheduled(wanted, within: window) { request in
      let views = registry.served[camera: camera].map(choose) ?? []
      guard !views.isEmpty else { return nil }
      return (try await take(views, request, within: window), views)
    }
  }

  /// Takes a picture of a scene for a schedule, as `takeScheduled` of a camera does. It is drawn once each of its
  /// cameras has delivered a frame that was captured after the call, or turns out to deliver none. After half of
  /// `window` it is drawn with the cameras that have delivered one, or once the first one has.
  ///
  /// - Returns: the snapshot, and the right to its picture; nil if there is no such scene.
  /// - Throws: `LateCapture`; a `Problem`, also if none of the cameras delivers frames and the fallback of `wanted`
  ///   is `error`; other errors of drawing.
  package func takeScheduled(
    ofScene name: String, _ wanted: SnapshotRequest, within window: CaptureWindow? = nil
  ) async throws -> Scheduled? {
    try await scheduled(wanted, within: window) { request in
      let served = registry.served
      guard let scene = served[scene: name] else { return nil }
      return (try await take(scene, served, request, within: window), [scene.view])
    }
  }

  private func scheduled(
    _ wanted: SnapshotRequest, within window: CaptureWindow?,
    _ take: (SnapshotRequest) async throws -> (snapshot: Snapshot, views: [ServedPreview])?
  ) async throws -> Scheduled? {
    let start = CaptureClock.now
    var isRepeated = false
    let result = try await counting {
      try await registry.consistently { () -> Scheduled? in
        // The picture that was taken of another configuration is not used: it needs another frame.
        if isRepeated, let window, !window.reopens() { throw LateCapture() }
        isRepeated = true
        while true {
          var request = wanted
          request.timeout = max(wanted.timeout - (CaptureClock.now - start), .milliseconds(1))
          do {
            guard let (snapshot, views) = try await take(request) else { return nil }
            let rights = try check(views)
            return (taken: TakenSnapshot(snapshot: snapshot, views: views), rights: rights)
          } catch let error where error.isOutOfMemory {
            let isInTime = CaptureClock.now - start < wanted.timeout && window?.reopens() ?? true
            guard isInTime else { throw error }
            try await pause(Self.memoryPause)
          }
        }
      }
    }
    if let result { count(result.taken.snapshot.sourceState) }
    return result
  }

  /// Returns the frame of a view that a request selects, or its fallback.
  ///
  /// - Throws: `LateCapture` if it is not captured within `window`; a `Problem`, and other errors of the camera.
  func moment(
    of view: ServedPreview, _ request: SnapshotRequest, within window: CaptureWindow?
  ) async throws -> CapturedFrame {
    guard let window else { return try await provider.moment(of: view, request) }
    let moment = try await window.run { try await provider.moment(of: view, request) }
    guard window.admits(moment.timestamp) else { throw LateCapture() }
    return moment
  }

  /// Waits for the cameras of a scene for at most half of the timeout; the rest is for drawing.
  private func take(
    _ scene: ServedScene, _ served: ServedState, _ request: SnapshotRequest, within window: CaptureWindow?
  ) async throws -> Snapshot {
    let views = scene.configuration.scene.sourceNames.compactMap { served[camera: $0]?.views.first }
    var awaited = request
    (awaited.timeout, awaited.fallback) = (request.timeout / 2, .error)
    let readiness: SceneReadiness
    if let window {
      readiness = try await window.run { [awaited] in
        try await self.readiness(of: views, awaited, within: window.length / 2)
      }
      guard window.admits(CaptureClock.now) else { throw LateCapture() }
    } else {
      readiness = try await self.readiness(of: views, awaited, within: nil)
    }
    let isDead = readiness.outages.count == views.count
    if isDead, request.fallback == .error, let outage = readiness.outages.first { throw outage }
    var limit = request.timeout / 2
    // Drawing waits for cameras that have never shown anything, for up to half of its limit.
    if readiness.isIncomplete, let window { limit = min(limit, window.length / 2) }
    let picture = try await scene.view.preview.drawScene(within: limit)
    // The time of the newest frame that it shows.
    if let window, !window.admits(picture.timestamp) { throw LateCapture() }
    return Snapshot(
      camera: scene.configuration.name, sequence: picture.sequence, timestamp: picture.timestamp,
      sourceState: isDead ? .lost : .live, pictures: [picture.named(scene.view.name)])
  }

  /// The result of waiting for the cameras of a scene.
  private struct SceneReadiness: Sendable {
    /// The reasons of the cameras that have failed.
    var outages: [Problem] = []
    /// Whether cameras are left that have neither delivered a frame nor failed.
    var isIncomplete = false
  }

  private enum SceneEvent: Sendable {
    case delivered
    case failed(Problem)
    case timedOut
  }

  /// Waits until each camera of some views has delivered the frame that a request selects, or has failed. After
  /// `timeout` one frame is enough; nil means no end.
  private func readiness(
    of views: [ServedPreview], _ request: SnapshotRequest, within timeout: Duration?
  ) async throws -> SceneReadiness {
    try await withThrowingTaskGroup(of: SceneEvent.self) { group in
      defer { group.cancelAll() }
      for view in views {
        group.addTask { [provider] in
          do {
            _ = try await provider.moment(of: view, request)
            return .delivered
          } catch let problem as Problem {
            return .failed(problem)
          }
        }
      }
      if let timeout {
        group.addTask {
          try await pause(timeout)
          return .timedOut
        }
      }
      var (readiness, delivered, waitsForAll) = (SceneReadiness(), 0, true)
      while delivered + readiness.outages.count < views.count, waitsForAll || delivered == 0,
        let event = try await group.next()
      {
        switch event {
        case .delivered: delivered += 1
        case .failed(let problem): readiness.outages.append(problem)
        case .timedOut: waitsForAll = false
        }
      }
      readiness.isIncomplete = delivered + readiness.outages.count < views.count
      return readiness
    }
  }
}
