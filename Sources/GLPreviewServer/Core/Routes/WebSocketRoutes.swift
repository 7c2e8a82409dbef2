// go2rtc's `/api/ws`: MSE, MJPEG and WebRTC over one WebSocket, for `video-rtc.js` and Home Assistant's
// cards.
internal import FoundationEssentials
package import Hummingbird
internal import NIOCore

package struct WebSocketRoutes: Sendable {
  let registry: CameraRegistry
  let joined: StreamRoutes
  let videos: VideoRoutes
  package let offers: any OfferAnswering
  let stalledAfter: Duration
  let metrics: ServiceMetrics

  /// The streams that a WebSocket can play.
  package struct Show: Sendable {
    let name: String
    /// Begins H.264. With `isOwn`, the camera's own H.264 may be passed through, whose keyframes may be far
    /// apart.
    let video: @Sendable (_ isOwn: Bool) throws -> VideoStream
    let jpegs: @Sendable () throws -> JoinedStream
    /// Returns the answer to a WebRTC offer.
    let answer: @Sendable (_ offer: String) async throws -> String
  }

  func add(to group: ServiceRoutes) {
    let rule = RouteRule(
      takesURLToken: true, parameters: CompatibilityRoutes.known(VideoRoutes.query),
      ofOtherNodes: .socket)
    let entry = RouteEntry(
      "openWebSocket", "Streams a view by WebSocket, for go2rtc clients: MSE, MJPEG or WebRTC",
      query: [CompatibilityRoutes.source] + VideoRoutes.query,
      answers: [.init(.switchingProtocols, "the connection becomes a WebSocket")],
      problems: [.upgradeRequired])
    group.get("api/ws", rule, as: [entry]) { request, context in
      let (target, request) = try registry.source(request)
      var query = try QueryParameters(request)
      let (wanted, _) = try videos.take(from: &query, over: target)
      try query.finish(known: VideoRoutes.fileQuery)
      if wanted.view != target.served.view { try await registry.check(wanted.view, of: target) }
      let show = show(target.name, of: target.camera, request, context) {
        try await offers.begin(target, offer: $0, context)
      }
      return try await response(show, to: request, context)
    }
  }

  /// Returns the streams of a view, wherever its camera is when one begins. `isAccepted` says that the
  /// camera's node accepts the parameters.
  package func show(
    _ view: String, of camera: String, _ request: Request, isAccepted: Bool = false,
    _ context: ServiceContext,
    answer: @escaping @Sendable (_ offer: String) async throws -> String
  ) -> Show {
    let request = request.withoutBody
    @Sendable func find(_ request: Request, _ kind: StreamKind) throws -> ServedPreview {
      var address = request.address(of: view, camera, as: kind)
      address.isAccepted = isAccepted
      return try videos.directory.find(address)
    }
    return Show(
      name: "'\(view)' of '\(camera)'",
      video: { isOwn in
        // For another node's camera, the first of equal parameters counts.
        let frequent = request.without("keyframe").adding(StreamKind.frequentKeys)
        let target = try find(isOwn ? request : frequent, .video)
        return try videos.begin(
          target, target.remoteView != nil && !isOwn ? frequent : request, context, passes: isOwn)
      },
      jpegs: {
        let pictures = VideoRoutes.encodingKeys.reduce(request) { $0.without($1) }
        return try joined.goingOn(find(pictures, .jpegs), pictures, context) { target in
          var (wanted, query) = (target.served, try QueryParameters(pictures))
          if target.remoteView == nil { (wanted, _) = try videos.take(from: &query, over: target) }
          let subscription = try joined.streams.join(target, as: wanted, every: .zero)
          subscription.name(address: context.clientAddress, key: nil)
          return JoinedStream(subscription: subscription)
        }
      }, answer: answer)
  }

  /// Upgrades the request to a WebSocket that plays `show`.
  package func response(_ show: Show, to request: Request, _ context: ServiceContext) async throws -> Response
  {
    let client = RequestClient.current
    return try await WebSocket.response(
      to: request, context, cutOffAfter: stalledAfter, onCutOff: metrics.countCutOff
    ) { socket in
      await RequestClient.$current.withValue(client) {
        await Player(show: show).serve(socket)
      }
    }
  }
}

/// Plays the streams of one WebSocket.
private struct Player: Sendable {
  let show: WebSocketRoutes.Show

  /// A message in either direction.
  private struct Message: Codable {
    let type: String
    var value: Value?
  }

  private enum Value: Codable {
    case text(String)
    case description(OfferDescription)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try? container.decode(String.self) {
        self = .text(text)
      } else {
        self = .description(try container.decode(OfferDescription.self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .text(let text): try container.encode(text)
      case .description(let description): try container.encode(description)
      }
    }
  }

  /// The longest interval between keyframes for MSE. `video-rtc.js` buffers 5 seconds, and browsers that
  /// remove older data remove everything up to the next keyframe (Media Source Extensions, 3.5.9): without a
  /// keyframe in these 5 seconds, playback stops.
  private static let keysEvery = Duration.seconds(2)
  /// A camera's own H.264 is no longer passed through if its keyframes are further apart.
  private static let longestWait = Duration.seconds(4)

  /// The most WebRTC offers that one connection may make.
  private static let mostOffers = 8
  private static let mostRefusals = 4
  /// The most characters of a client's message type that an error repeats.
  private static let longestQuote = 32

  /// Handles messages until the client disconnects.
  func serve(_ socket: WebSocket) async {
    await withDiscardingTaskGroup { group in
      var (playing, offers, refusals): (Set<String>, Int, Int) = ([], 0, 0)
      for await text in socket.messages {
        guard let message = try? JSONDecoder().decode(Message.self, from: Data(text.utf8)) else { break }
        switch message.type {
        case "mse" where playing.insert("mse").inserted:
          group.addTask {
            await reportErrors(of: message.type, to: socket) { try await playMSE(message.value, on: socket) }
          }
        case "mjpeg" where playing.insert("mjpeg").inserted:
          group.addTask {
            await reportErrors(of: message.type, to: socket) { try await playMJPEG(on: socket) }
          }
        case "webrtc" where offers < Self.mostOffers, "webrtc/offer" where offers < Self.mostOffers:
          offers += 1
          group.addTask {
            await reportErrors(of: message.type, to: socket) { try await answer(message, on: socket) }
          }
        // Connection checks reveal the client's candidates; the answer contains the service's.
        case "webrtc/candidate": break
        // A player tries other kinds. A client that does not stop is disconnected, so that errors do not pile
        // up.
        case _ where refusals == Self.mostRefusals: socket.end(1008)
        default:
          refusals += 1
          group.addTask {
            await reportErrors(of: message.type, to: socket) {
              throw Problem(.badRequest, "not supported, or already playing")
            }
          }
        }
      }
      group.cancelAll()
    }
  }

  /// Plays, and sends an error to the client, so that players fall back to another kind.
  private func reportErrors(of type: String, to socket: WebSocket, _ play: () async throws -> Void) async {
    do {
      try await play()
    } catch is CancellationError {
      return
    } catch {
      let reason = Problem(error)?.detail ?? "internal error"
      try? await send(
        Message(type: "error", value: .text("\(type.prefix(Self.longestQuote)): \(reason)")), on: socket)
    }
  }

  private func send(_ message: Message, on socket: WebSocket) async throws {
    try await socket.send(String(decoding: try JSONEncoder().encode(message), as: UTF8.self))
  }

  private func playMSE(_ codecs: Value?, on socket: WebSocket) async throws {
    if case .text(let codecs) = codecs, !codecs.isEmpty, !codecs.contains("avc1") {
      throw Problem(.notAcceptable, "the client does not accept H.264")
    }
    var stream = try show.video(true)
    var (mp4, isFirst, askedAt) = (FragmentedMP4(), true, CaptureInstant?.none)
    while let sample = try await stream.next() {
      let isPassed = sample.format.encoder == nil
      if sample.isKey { askedAt = sample.timestamp }
      if let last = askedAt, sample.timestamp - last >= (isPassed ? Self.longestWait : Self.keysEvery) {
        askedAt = sample.timestamp
        if isPassed {
          stream = try show.video(false)
        } else {
          stream.requestKeyframe()
        }
      }
      if isFirst { try await send(Message(type: "mse", value: .text(sample.format.mediaType)), on: socket) }
      isFirst = false
      try await socket.send(ByteBuffer(bytes: mp4.append(sample)))
    }
    throw Problem(.conflict, "view \(show.name) is switched off")
  }

  private func playMJPEG(on socket: WebSocket) async throws {
    var joined = try show.jpegs()
    try await send(Message(type: "mjpeg"), on: socket)
    var last: StreamPart?
    while true {
      let subscription = joined.subscription
      do {
        let part = try await subscription.hub.part(after: last, since: subscription.since)
        try await socket.send(part.jpeg)
        last = part
      } catch is StreamEnded {
        guard let next = await joined.next?() else {
          throw Problem(.conflict, "view \(show.name) is switched off")
        }
        joined = next
      }
    }
  }

  private func answer(_ message: Message, on socket: WebSocket) async throws {
    switch message.value {
    case .text(let offer):
      try await send(
        Message(type: "webrtc/answer", value: .text(try await show.answer(offer))), on: socket)
    case .description(let offer) where offer.type == "offer":
      let answer = OfferDescription(type: "answer", sdp: try await show.answer(offer.sdp))
      try await send(Message(type: "webrtc", value: .description(answer)), on: socket)
    case .description, nil: throw Problem(.badRequest, "the value is not an offer")
    }
  }
}

extension CameraRegistry {
  /// Returns the view that go2rtc's `src=CAMERA` or `src=CAMERA/VIEW` names, and the request without this
  /// parameter.
  package func source(_ request: Request) throws(Problem) -> (ServedPreview, Request) {
    let names = (request.uri.queryParameters["src"] ?? "").split(separator: "/", maxSplits: 1).map(
      String.init)
    let target = try view(names.count > 1 ? names[1] : nil, of: names.first)
    return (target, request.without("src"))
  }
}
