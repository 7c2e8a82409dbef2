// `/cameras/{camera}/{view}/whep`: WebRTC by one HTTP request (WHEP, draft-ietf-wish-whep), and go2rtc's
// `/api/webrtc`.
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
package import HummingbirdCore
internal import NIOCore

package struct WHEPRoutes: OfferAnswering {
  let registry: CameraRegistry
  let sessions: WHEPSessions
  let videos: VideoStreams
  let directory: ViewDirectory

  func add(to group: ServiceRoutes) {
    // The role `read` suffices for WebRTC. A session belongs to its client.
    let offers = RouteRule(access: .role(.read), bodyTypes: [Self.type], ofOtherNodes: .offer)
    let sessions = RouteRule(access: .role(.read), bodyTypes: [Self.type, Self.fragmentType])
    let (path, sdp) = ("cameras/:camera/:view/whep", RouteBody(contents: [Self.type: .text]))
    let created = RouteAnswer(.created, "the answer; `Location` is the session's URL", [Self.type: .text])
    let errors: [HTTPResponse.Status] = [.notAcceptable, .notImplemented, .internalServerError]
    group.post(
      "cameras/:camera/:file/whep", offers,
      as: [
        .init(
          "playWebRTC", "Streams a view by WebRTC (WHEP)", at: path, body: sdp, answers: [created],
          problems: errors)
      ]
    ) { request, context in
      try await answer(try target(of: context), request, context)
    }
    group.on(
      "cameras/:camera/:file/whep", method: .options, offers,
      as: [
        .init(
          "getWebRTCOptions", "Returns the types of offers, and ICE servers in `Link`", at: path,
          answers: [.nothing("in header fields")])
      ]
    ) { _, context in
      _ = try target(of: context)
      return options
    }
    group.delete(
      "cameras/:camera/:file/whep/:session", sessions,
      as: [
        .init(
          "endWebRTC", "Ends a session", at: path + "/:session",
          answers: [.init(.ok, "the session has ended")])
      ]
    ) { _, context in
      let id = try await session(of: context)
      await self.sessions.end(id)
      return Response(status: .ok)
    }
    // Clients send further addresses as they find them. The service learns them from connection checks
    // instead.
    group.patch(
      "cameras/:camera/:file/whep/:session", sessions,
      as: [
        .init(
          "addCandidates", "Accepts and ignores ICE candidates of a client, which are not needed",
          at: path + "/:session",
          body: .init(contents: [Self.fragmentType: .text], isRequired: false),
          answers: [.nothing("accepted")])
      ]
    ) { _, context in
      _ = try await session(of: context)
      return Response(status: .noContent)
    }
    var byName = offers
    byName.parameters = ["src"]
    let description = JSONSchema.object([.init("type", .choice(["offer", "answer"])), .init("sdp", .text)])
    group.post(
      "api/webrtc", byName,
      as: [
        .init(
          "playWebRTCByName", "Streams a view by WebRTC, for go2rtc clients",
          query: [CompatibilityRoutes.source],
          body: .init(contents: [Self.type: .text, "application/json": description]),
          answers: [created, .json(description, "the answer to an offer in JSON")], problems: errors)
      ]
    ) { request, context in
      try await go2rtc(try registry.source(request).0, request, context)
    }
  }

  /// Answers a request with an offer for a view.
  package func answer(
    _ target: ServedPreview, _ request: Request, _ context: ServiceContext
  ) async throws -> Response {
    guard request.uri.path != "/api/webrtc" else { return try await go2rtc(target, request, context) }
    return try await created(target, offer: try await text(request, context), context)
  }

  package var isAvailable: Bool { sessions.isAvailable }

  package func has(_ session: String) async -> Bool { await sessions.has(session) }

  package func begin(_ target: ServedPreview, offer: String, _ context: ServiceContext) async throws -> String
  {
    try await begun(target, offer: offer, context).0.answer
  }

  /// The accepted type, and the ICE servers of the configuration.
  package var options: Response {
    var fields = links
    fields[named: "Accept-Post"] = Self.type
    fields[named: "Allow"] = "POST, OPTIONS"
    return Response(status: .noContent, headers: fields)
  }

  /// The type of offers and answers.
  static let type = "application/sdp"
  /// The type of the addresses that clients send later.
  private static let fragmentType = "application/trickle-ice-sdpfrag"

  private func target(of context: ServiceContext) throws -> ServedPreview {
    try registry.view(context.parameters.require("file"), of: context.parameters.require("camera"))
  }

  private func session(of context: ServiceContext) async throws -> String {
    let id = try context.parameters.require("session")
    try await sessions.check(
      id, of: context.parameters.require("camera"), context.parameters.require("file"), context.role)
    return id
  }

  private func text(_ request: Request, _ context: ServiceContext) async throws -> String {
    guard request.isSDP else {
      throw Problem(.unsupportedMediaType, "the request body must be an SDP offer (\(Self.type))")
    }
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    return String(buffer: body)
  }

  private func created(
    _ target: ServedPreview, offer text: String, _ context: ServiceContext
  ) async throws -> Response {
    let (begun, location) = try await begun(target, offer: text, context)
    var fields = links
    fields[.contentType] = Self.type
    fields[.location] = location
    fields[.eTag] = "\"\(begun.id.prefix(8))\""
    fields[.cacheControl] = "no-store"
    return Response(
      status: .created, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(string: begun.answer)))
  }

  /// Begins a session; `location` is its URL.
  private func begun(
    _ target: ServedPreview, offer text: String, _ context: ServiceContext
  ) async throws -> (WHEPSessions.Begun, location: String) {
    var target = target
    if (try? registry.check(ViewRight(target, .asServed))) == nil {
      // A WebSocket may send an offer long after it was opened.
      target = try await directory.awaited(
        ViewAddress(view: target.name, camera: target.camera, parameters: StreamKind.frequentKeys))
    }
    guard target.served.isEnabled else { throw Problem.switchedOff(target) }
    let offer: SDPOffer
    do throws(SDPError) { offer = try SDPOffer(text) } catch {
      throw Problem(error.isRefusal ? .notAcceptable : .badRequest, error.reason)
    }
    let begun = try await sessions.begin(
      offer, target, asked: context.channel?.localAddress?.ipAddress, by: context.grant
    ) { [target] in try await video(of: target) }
    return (begun, "/cameras/\(target.camera)/\(target.name)/whep/\(begun.id)")
  }

  /// Begins to watch a view where it is now: its camera may have moved.
  ///
  /// Clients that lose packets need keyframes on request, which no camera provides. Another node encodes with
  /// a keyframe every 2 seconds (`StreamKind.frequentKeys`), and its stream is passed through.
  private func video(of target: ServedPreview) async throws -> VideoStream {
    let address = ViewAddress(
      view: target.name, camera: target.camera, parameters: StreamKind.frequentKeys)
    let asked = { @Sendable (target: ServedPreview) in VideoRequest(target, passes: target.remoteView != nil)
    }
    let found = try await directory.awaited(address)
    // Otherwise another camera has taken its name.
    guard
      directory.catalogue.moves(target.camera) || found.preview === target.preview
        || found.remoteView != nil && target.remoteView != nil
    else { throw Problem.notFound("the view was removed") }
    return try videos.begin(
      asked(found), next: directory.nextVideo(address, asked))
  }

  /// The servers by which clients find their own addresses.
  private var links: HTTPFields {
    var fields = HTTPFields()
    for server in sessions.configuration.iceServers {
      if let name = HTTPField.Name("Link") { fields.append(HTTPField(name: name, value: server.link)) }
    }
    return fields
  }

  // MARK: go2rtc

  /// `src=CAMERA` or `src=CAMERA/VIEW`; an offer as SDP, or as JSON.
  private func go2rtc(
    _ target: ServedPreview, _ request: Request, _ context: ServiceContext
  ) async throws -> Response {
    if request.isSDP {
      return try await created(target, offer: try await text(request, context), context)
    }
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    guard let offer = try? JSONDecoder().decode(OfferDescription.self, from: Data(body.readableBytesView)),
      offer.type == "offer"
    else { throw Problem(.badRequest, #"the body must be {"type": "offer", "sdp": "v=0..."}"#) }
    let (begun, location) = try await begun(target, offer: offer.sdp, context)
    return try Response(
      headers: [.location: location], json: OfferDescription(type: "answer", sdp: begun.answer))
  }
}

extension Request {
  fileprivate var isSDP: Bool {
    headers[.contentType]?.prefix { $0 != ";" && $0 != " " }.lowercased() == WHEPRoutes.type
  }
}
