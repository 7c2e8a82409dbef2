// A view's pictures for WebRTC: read and cut into packets once for all sessions that show it.
internal import HTTPTypes
internal import Logging

/// Reads a view's pictures while it has sessions; used on the port's event loop.
final class WHEPFeed {
  /// Which sessions share pictures.
  struct Key: Hashable {
    private let preview: ObjectIdentifier
    private let video: VideoConfiguration
    /// The one session of a feed of its own.
    let session: String?

    init(_ target: ServedPreview, for session: String? = nil) {
      (preview, video) = (ObjectIdentifier(target.preview), target.served.video)
      self.session = session
    }
  }

  /// Begins to read a view, from a key picture on. Throws where it can't be watched now.
  typealias Pictures = @Sendable () async throws -> VideoStream

  private struct Reading {
    /// Nil before the first one, and while the view can't be watched.
    var stream: VideoStream?
    /// How often the stream had gone on with another view when the last picture came.
    var moves = 0
    var clients = 0
  }

  let key: Key
  private(set) var sessions: [WHEPSession] = []
  /// The last key picture and what followed it, if the view's H.264 is passed on. New sessions and those that lost pictures begin
  /// with it, because a passed stream makes no key picture on request. Empty for an encoded view.
  private var past: [RTPPicture] = []
  private var pastBytes = 0
  private let reading = Watched(Reading())
  private var task: Task<Void, Never>?

  /// How long after a failure the view is tried again.
  private static let retries = Duration.seconds(1)
  /// The most bytes of `past`. A larger one is given up until the next key picture.
  private static let mostPastBytes = 4 << 20

  init(_ key: Key) { self.key = key }

  /// A result of reading a feed.
  enum News: Sendable {
    case picture(RTPPicture)
    /// Pictures are not from the same stream any more: new sessions do not get those from before.
    case interrupted
    /// The view may not be shown any more, for this reason.
    case ended(String)
  }

  /// Begins to read. `deliver` takes what comes to the event loop.
  func run(_ pictures: @escaping Pictures, logger: Logger, _ deliver: @escaping Deliver) {
    let reading = reading
    task = Task { await WHEPFeed.read(pictures, into: reading, logger, deliver) }
  }

  typealias Deliver = @Sendable (News) async throws -> Void

  private static func read(
    _ pictures: Pictures, into reading: Watched<Reading>, _ logger: Logger, _ deliver: Deliver
  ) async {
    var told: String?
    while !Task.isCancelled {
      do {
        let stream = try await pictures()
        reading.update {
          ($0.stream, $0.moves) = (stream, 0)
          stream.stand(for: $0.clients)
        }
        while let sample = try await stream.next() {
          told = nil
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
        if reason != told {
          logger.warning("WebRTC sessions have no pictures", metadata: ["reason": "\(reason)"])
        }
        told = reason
      }
      reading.update { $0.stream = nil }
      try? await deliver(.interrupted)
      try? await Task.sleep(for: retries)
    }
  }

  func end() { task?.cancel() }

  // MARK: Sessions

  /// Adds a session, which begins with the last key picture where the view is passed on, else with the next one. Those that come
  /// within a moment share that.
  func add(_ session: WHEPSession, at now: CaptureInstant) {
    sessions.append(session)
    session.feed = self
    forgetOldPast()
    session.beginAnew(with: past, at: now)
    stand()
    if past.isEmpty { reading.value.stream?.askForKey() }
  }

  /// The view may have changed, another node's stream ended, or the camera moved, since the last pictures came.
  private func forgetOldPast() {
    let reading = reading.value
    if let stream = reading.stream, !stream.showsPast || stream.moves != reading.moves {
      (past, pastBytes) = ([], 0)
    }
  }

  /// Gives a picture to all sessions, or ends them.
  func deliver(_ news: News, at now: CaptureInstant) {
    switch news {
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
    stand()
  }

  private func stand() {
    reading.update { [count = sessions.count] in
      $0.clients = count
      $0.stream?.stand(for: count)
    }
  }

  /// Whether the pictures are smaller ones, because the only session can't take the view's.
  var isReduced: Bool { reading.value.stream?.isReduced ?? false }

  /// A session needs a key picture. What several sessions share goes on for the others meanwhile; a session of its own has lost
  /// pictures, which lowers the bit rate or the size if it goes on.
  func askForKey(for session: WHEPSession, at now: CaptureInstant) {
    guard let stream = reading.value.stream else { return }
    forgetOldPast()
    if key.session != nil {
      stream.lost()
    } else if past.isEmpty {
      stream.askForKey()
    } else {
      session.beginAnew(with: past, at: now)
    }
  }
}

extension Problem {
  /// The reason for the end of a session whose view may not be shown any more.
  var endOfView: String { status == .conflict ? "the view was switched off" : "the view was removed" }
}
