// Requests to the node that has a camera. Until a node has answered, they follow the camera to its next
// owner: a node that has just died may accept requests for a while and answer none, or refuse connections.
internal import AsyncHTTPClient
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// The camera of a request has moved to this node, which must answer itself.
struct CameraIsHere: Error {}

struct PeerRequests: Sendable {
  let catalogue: PeerCatalogue

  struct Answer: Sendable {
    let response: HTTPClientResponse
    /// The node that gave the answer.
    let route: PeerRoute
  }

  private enum Event: Sendable {
    case ended(Result<Answer?, any Error>, PeerRoute, attempt: Int)
    case moved(PeerCatalogue.NextOwner, attempt: Int)
    /// Sends the request to the unavailable owner again.
    case again(PeerRoute, attempt: Int)
  }

  /// How often a request is retried at a new owner that does not know yet that it has the camera.
  private static let tries = 6
  /// The most changes of owner that a request follows. More mean that the store can't be trusted.
  private static let mostMoves = 4
  /// The interval at which the request is sent again to an unavailable owner.
  private static let retryInterval = Duration.milliseconds(300)

  /// Sends a request, and waits for the head of the answer; nil if none comes within `limit`.
  ///
  /// A request that only reads is sent to each further owner too, and the first good answer counts. A request
  /// that changes something is sent once; if it certainly was not carried out, it is sent to the next owner.
  ///
  /// - Throws: `CameraIsHere`; `Problem`; the errors of the connection.
  func send(_ call: PeerClient.Call, to route: PeerRoute, within limit: Duration) async throws -> Answer? {
    let deadline = CaptureClock.now + limit
    // If no new owner answers in time, the old owner's error is returned.
    let lastResult = Watched<Result<Answer?, any Error>?>(nil)
    let answer = try await withDeadline(limit) {
      try await race(call, route, until: deadline) { result in lastResult.update { $0 = result } }
    }
    if let answer { return answer }
    return try lastResult.value?.get() ?? nil
  }

  private func race(
    _ call: PeerClient.Call, _ first: PeerRoute, until deadline: CaptureInstant,
    onUnavailable: (Result<Answer?, any Error>) -> Void
  ) async throws -> Answer? {
    let isRepeatable = call.method == .GET || call.method == .HEAD
    return try await withThrowingTaskGroup(of: Event.self) { group in
      var (last, isPending) = (0, false)
      func request(_ route: PeerRoute) {
        isPending = true
        group.addTask { [last] in
          .ended(await answer(call, route, isNew: last > 0, deadline), route, attempt: last)
        }
      }
      func follow(_ route: PeerRoute) {
        group.addTask { [last] in
          .moved(try await catalogue.nextOwner(after: route, isRepeatable: isRepeatable), attempt: last)
        }
      }
      func go(on next: PeerCatalogue.NextOwner) throws {
        guard case .node(let route) = next else { throw CameraIsHere() }
        last += 1
        request(route)
        if last < Self.mostMoves { follow(route) }
      }
      defer { group.cancelAll() }
      request(first)
      follow(first)
      while let event = try await group.next() {
        switch event {
        // A refusal or an error of an earlier owner does not decide the result.
        case .ended(let result, let route, let attempt):
          guard attempt == last || result.isGood else { continue }
          guard route.moves, last < Self.mostMoves, result.isUnavailable(mayRepeat: isRepeatable) else {
            return try result.get()
          }
          isPending = false
          onUnavailable(result)
          group.addTask {
            try await Task.sleep(for: Self.retryInterval)
            return .again(route, attempt: attempt)
          }
        case .again(let route, let attempt) where attempt == last:
          if let next = catalogue.knownOwner(after: route) { try go(on: next) } else { request(route) }
        case .moved(let next, let attempt) where attempt == last:
          guard isRepeatable || !isPending else {
            throw Problem(
              .badGateway,
              "camera '\(first.camera.name)' moved from node '\(first.node)' before that answered: the request may have taken effect",
              headers: ["Retry-After": "2"])
          }
          try go(on: next)
        case .again, .moved: break
        }
      }
      throw CancellationError()
    }
  }

  /// The answer of one node.
  ///
  /// A new owner may not know yet that it has the camera, so the request is retried a few times.
  private func answer(
    _ call: PeerClient.Call, _ route: PeerRoute, isNew: Bool, _ deadline: CaptureInstant
  ) async -> Result<Answer?, any Error> {
    var pause = Duration.milliseconds(100)
    for _ in 0..<Self.tries where isNew {
      let result = await answer(call, route, deadline)
      guard result.isTooEarly, (try? await Task.sleep(for: pause)) != nil else { return result }
      pause *= 2
    }
    return await answer(call, route, deadline)
  }

  /// Succeeds with nil if no answer comes in time.
  private func answer(
    _ call: PeerClient.Call, _ route: PeerRoute, _ deadline: CaptureInstant
  ) async -> Result<Answer?, any Error> {
    var call = call
    call.peer = route.url
    // Every owner gives the same picture, but only the current one may change something. A camera that does
    // not move has only one owner.
    if route.moves, let epoch = route.epoch, call.method != .GET, call.method != .HEAD {
      call.headers.replaceOrAdd(name: PeerField.epoch, value: "\(epoch)")
    }
    let limit = max(deadline - CaptureClock.now, .milliseconds(1))
    do {
      let response = try await catalogue.client.send(call, within: limit)
      return .success(response.map { Answer(response: $0, route: route) })
    } catch {
      return .failure(error)
    }
  }
}

extension Result<PeerRequests.Answer?, any Error> {
  /// Whether the answer has a status below 400.
  fileprivate var isGood: Bool {
    if case .success(let answer?) = self { answer.response.status.code < 400 } else { false }
  }

  /// Whether the node does not have the camera, as far as it knows.
  fileprivate var isTooEarly: Bool {
    if case .success(let answer?) = self { [503, 508].contains(answer.response.status.code) } else { false }
  }

  /// Whether the node gave no answer because it is dead or does not have the camera. Unless the request may
  /// be repeated, it must be certain that the node has done nothing.
  fileprivate func isUnavailable(mayRepeat: Bool) -> Bool {
    switch self {
    case .success(let answer?): !answer.response.headers[PeerField.elsewhere].isEmpty
    case .success(nil): false
    case .failure(let error):
      switch error {
      case is NIOConnectionError: true
      case let error as HTTPClientError where error == .connectTimeout: true
      case let error as HTTPClientError: mayRepeat && error == .remoteConnectionClosed
      case is IOError: mayRepeat
      default: false
      }
    }
  }
}
