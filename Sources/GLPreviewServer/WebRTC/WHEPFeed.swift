// A view's pictures for WebRTC: read and cut into packets once for all sessions that show it.
internal import HTTPTypes
internal import Logging

/// Reads a view's pictures while it has sessions; used on the port's event loop.
final class WHEPFeed {
  /// Identifies pictures that sessions can share.
  struct Key: Hashable {
    private let preview: ObjectIdentifier
    private let video: VideoConfiguration
    /// The only session of a separate feed; nil for a shared feed.
    let session: String?

    init(_ target: ServedPreview, for session: String? = nil) {
      (preview, video) = (ObjectIdentifier(target.preview), target.served.video)
      self.session = session
    }
  }

  /// Begins to read a view, from a keyframe on. Throws if it can't be watched now.
  typealias Pictures = @Sendable () async throws -> VideoStream

  private struct Reading {
    /// Nil before the first stream, and while the view can't be watched.
    var stream: VideoStream?
    /// How often the stream had continued with another view when the last picture came.
    var moves = 0
    var clients = 0
  }

  let key: Key
  private(set) var sessions: [WHEPSession] = []
  /// The last keyframe and the pictures after it, if the view's H.264 is passed through. New sessions and
  /// those that lost pictures begin with them, because such a stream makes no keyframe on request. Empty for
  /// an encoded view.
  private var past: [RTPPicture] = []
  private var pastBytes = 0
  private let reading = Watched(Reading())
  private var task: Task<Void, Never>?

  /// How long after a failure the view is tried again.
  private static let retries = Duration.seconds(1)
  /// The most bytes of `past`. Beyond that it is dropped until the next keyframe.
  private static let mostPastBytes = 4 << 20

  init(_ key: Key) { self.key = key }

  /// A result of reading a feed.
  enum Event: Sendable {
    case picture(RTPPicture)
    /// Further pictures are from another stream: new sessions do not get those from before.
    case interrupted
    /// The view may no longer be shown, for this reason.
    case ended(String)
  }

  /// Begins to read. `deliver` passes the results to the event loop.
  func run(_ pictures: @escaping Pictures, logger: Logger, _ deliver: @escaping Deliver) {
    let reading = reading
    task = Task { await WHEPFeed.read(pictures, into: reading, logger, deliver) }
  }

  typealias Deliver = @Sendable (Event) async throws -> Void

  private static func read(
    _ pictures: Pictures, into reading: Watched<Reading>, _ logger: Logger, _ deliver: Deliver
  ) async {
    var loggedReason: String?
    while !Task.isCancelled {
      do {
        let stream = try await pictures()
        reading.update {
          ($0.stream, $0.moves) = (stream, 0)
          stream.setClients($0.clients)
        }
        while let sample = try await stream.next() {
          loggedReason = nil
          if reading.value.moves != stream.moves {
            try await deliver(.interrupted)
            reading.update { $0.moves = stream.moves }
          }
          try await deliver(.picture(RTPPicture(sample)))
        }
        if let problem = stream.revocation { try await deliver(.ended(problem.endOfView)) }
      } catch is CancellationError {
        // Its last session has left.
      } catch let problem as Problem where [.conflict, .notFound].contains(problem.status) {
        try? await deliver(.ended(problem.endOfView))
      } catch {
        let reason = "\(error)"
        if reason != loggedReason {
          logger.warning("WebRTC sessions interrupted", metadata: ["reason": "\(reason)"])
        }
        loggedReason = reason
      }
      reading.update { $0.stream = nil }
      try? await deliver(.interrupted)
      try? await Task.sleep(for: retries)
    }
  }

  func end() { task?.cancel() }

  // MARK: Sessions

  /// Adds a session. It begins with the last keyframe if the view is passed through, else with the next one.
  /// Sessions that come at nearly the same time share that one.
  func add(_ session: WHEPSession, at now: CaptureInstant) {
    sessions.append(session)
    session.feed = self
    forgetOldPast()
    session.restart(with: past, at: now)
    updateClients()
    if past.isEmpty { reading.value.stream?.requestKeyframe() }
  }

  /// Drops `past` if the view has changed, another node's stream has ended, or the camera has moved since.
  private func forgetOldPast() {
    let reading = reading.value
    if let stream = reading.stream, !stream.showsPast || stream.moves != reading.moves {
      (past, pastBytes) = ([], 0)
    }
  }

  /// Gives a picture to all sessions, or ends them.
  func deliver(_ event: Event, at now: CaptureInstant) {
    switch event {
    case .picture(let picture):
      keep(picture)
      for session in sessions { session.send(picture, at: now) }
    case .interrupted: (past, pastBytes) = ([], 0)
    case .ended(let reason):
      for session in sessions { session.close(reason) }
    }
  }

  private func keep(_ picture: RTPPicture) {
    if picture.isKey || !picture.isPassed { (past, pastBytes) = ([], 0) }
    guard picture.isPassed, picture.isKey || !past.isEmpty else { return }
    past.append(picture)
    pastBytes += picture.bytes.count
    if pastBytes > Self.mostPastBytes { (past, pastBytes) = ([], 0) }
  }

  func remove(_ session: WHEPSession) {
    sessions.removeAll { $0 === session }
    session.feed = nil
    updateClients()
  }

  private func updateClients() {
    reading.update { [count = sessions.count] in
      $0.clients = count
      $0.stream?.setClients(count)
    }
  }

  /// Whether the pictures are smaller than the view's, because the only session can't take those.
  var isReduced: Bool { reading.value.stream?.isReduced ?? false }

  /// Requests a keyframe for a session. A shared feed continues for the other sessions meanwhile. A separate
  /// feed reports lost pictures, which lowers the bit rate or the size if they recur.
  func requestKeyframe(for session: WHEPSession, at now: CaptureInstant) {
    guard let stream = reading.value.stream else { return }
    forgetOldPast()
    if key.session != nil {
      stream.lost()
    } else if past.isEmpty {
      stream.requestKeyframe()
    } else {
      session.restart(with: past, at: now)
    }
  }
}

extension Problem {
  /// Why a session ends whose view may no longer be shown.
  var endOfView: String { status == .conflict ? "the view was switched off" : "the view was removed" }
}
