// A view as HLS: its video is read while players ask for the playlist or its segments.
internal import NIOCore

/// One view for all players that request it with equal parameters.
final class HLSStream: Sendable {
  /// HLS has no connection: players at one address with equal secrets and programs are one viewer.
  struct Viewer: Hashable {
    let client = RequestClient.current
    let program: String?
    /// The credential of its grant: two links of a key end at different times.
    let credential: Credential?

    init(program: String?, _ grant: ClientGrant? = nil) {
      (self.program, credential) = (program, grant?.subject.credential)
    }
  }

  private struct State {
    var video: VideoStream
    var timeline = HLSTimeline(from: Int(WallTime.now.secondsSinceEpoch) - 1_577_836_800)
    var visits: [Viewer: (last: CaptureInstant, permit: AdmissionPermit, grant: ClientGrant?)] = [:]
    /// The viewers of requests that wait for a playlist.
    var waiting: [Viewer: Int] = [:]
    var end: (any Error)?
  }

  let target: ServedPreview
  let wanted: ServedView
  let configuration: VideoConfiguration
  private let videos: VideoStreams
  private let state: Watched<State>

  /// - Throws: as `VideoStreams.begin`.
  init(_ target: ServedPreview, _ view: ServedView, _ video: VideoConfiguration, _ all: VideoStreams) throws {
    (self.target, wanted, configuration, videos) = (target, view, video, all)
    state = Watched(State(video: try videos.begin(target, as: view, video)))
  }

  /// Changes the viewers or the video. The stream ends without viewers. Returns whether it has any.
  @discardableResult private func update(_ change: (inout State) -> Void) -> Bool {
    let (video, clients) = state.withLock { state in
      change(&state)
      return (state.video, state.visits.count)
    }
    video.setClients(clients)
    if clients == 0 { video.end() }
    return clients > 0
  }

  /// Counts a request; 503 or 429 for too many viewers. A viewer is forgotten when its grant is revoked.
  func visit(_ viewer: Viewer, at now: CaptureInstant, _ grant: ClientGrant?, _ gate: AdmissionLimit) throws {
    let known = state.withLock { $0.visits[viewer] }
    let forget = { @Sendable [weak self] in _ = self?.update { $0.visits[viewer] = nil } }
    let own = try known?.grant ?? grant?.another(.read, onRevoked: forget)
    let permit = try known?.permit ?? gate.enter()
    update { $0.visits[viewer] = (now, permit, own) }
  }

  /// Forgets viewers that have sent no request for three target durations. Returns whether any viewer is
  /// left.
  func forgetViewers(at now: CaptureInstant) -> Bool {
    update { state in
      let most = Duration.seconds(3 * (state.timeline.target ?? 20))
      state.visits = state.visits.filter {
        state.end == nil && (now - $1.last < most || state.waiting[$0] != nil)
      }
    }
  }

  /// Whether it shows what a request wants of `now`, its view at present. It goes on while the view moves, until that
  /// is locked or unlocked.
  func shows(_ other: ServedView, of now: ServedPreview) -> Bool {
    guard now.preview === target.preview, now.served.isLocked == target.served.isLocked,
      now.serves(other) == target.serves(wanted)
    else { return false }
    return other.setsPose == wanted.setsPose && other.subject == wanted.subject
  }

  /// Whether the stream has ended, or is about to for lack of viewers.
  var isOver: Bool { state.withLock { $0.end != nil || $0.visits.isEmpty } }

  /// The playlist for a viewer of `now`, once there is a segment; nil if there is none in time. The viewer is
  /// not forgotten while it waits, since a camera may begin later than three target durations.
  func playlist(
    _ query: String, for viewer: Viewer, at now: CaptureInstant, within limit: Duration
  ) async throws -> String? {
    let begin = CaptureClock.now
    update { $0.waiting[viewer, default: 0] += 1 }
    defer {
      update { state in
        state.waiting[viewer] = state.waiting[viewer].flatMap { $0 > 1 ? $0 - 1 : nil }
        if let last = state.visits[viewer]?.last {
          state.visits[viewer]?.last = max(last, now + (CaptureClock.now - begin))
        }
      }
    }
    return try await state.first(until: CaptureClock.now + limit) { state in
      if let end = state.end { throw end }
      return state.timeline.playlist("\(target.name).m3u8", query)
    }
  }

  /// Whether a viewer waits for a playlist.
  var isAwaited: Bool { state.withLock { !$0.waiting.isEmpty } }

  func file(_ name: String) -> (bytes: ByteBuffer, lease: MemoryLease)? {
    state.withLock { $0.end == nil ? $0.timeline.file(name) : nil }
  }

  /// Cuts the video until it ends.
  func run(within budget: MemoryBudget) async {
    do {
      while let sample = try await state.withLock({ $0.video }).next() {
        guard try state.update({ try $0.timeline.append(sample, within: budget) }) else { continue }
        if sample.format.encoder == nil {
          // The camera's own keyframes are too far apart.
          let video = try videos.begin(target, as: wanted, configuration, passes: false)
          update { $0.video = video }
        }
        state.withLock { $0.video }.requestKeyframe()
      }
      throw Problem.reconfigured(target)
    } catch { state.update { $0.end = error } }
  }
}
