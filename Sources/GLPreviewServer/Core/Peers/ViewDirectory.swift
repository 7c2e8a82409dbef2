// Finds views for all protocols: of this node's cameras, of other nodes', and of cameras that are moving from one node to another.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// The kinds of streams that are read of a camera at another node.
package enum StreamKind: Sendable, Hashable {
  case jpegs, video

  /// The parameters of a video whose clients can't wait long for a key picture: WebRTC's, and MSE's where the camera's own are rare.
  package static let frequentKeys = "keyframe=2"
}

/// A view by its names, and how a client wants it.
package struct ViewAddress: Sendable {
  /// Nil for the first view of the camera.
  package var view: String?
  /// Nil for the first camera of this node.
  package var camera: String?
  var kind = StreamKind.video
  /// Parameters as in the query of a URL: the camera's node applies them.
  package var parameters = ""
  /// Other nodes are shown only this node's cameras, and follow cameras themselves.
  var isFromPeer = false
  /// Whether the camera's node is known to accept the parameters.
  package var isAccepted = false

  package init(
    view: String? = nil, camera: String? = nil, kind: StreamKind = StreamKind.video, parameters: String = "",
    isFromPeer: Bool = false, isAccepted: Bool = false
  ) {
    (self.view, self.camera, self.kind, self.parameters, self.isFromPeer, self.isAccepted) = (
      view, camera, kind, parameters, isFromPeer, isAccepted
    )
  }
}

package struct ViewDirectory: Sendable {
  package let registry: CameraRegistry
  package let catalogue: PeerCatalogue
  let peers: PeerStreams

  /// The view where its camera is now.
  ///
  /// - Throws: `Problem`: 404 if there is no such view, 503 if no node has the camera at the moment.
  func find(_ address: ViewAddress) throws -> ServedPreview {
    if !address.isFromPeer, let camera = address.camera {
      if let guest = try peers.view(address) { return guest }
      if catalogue.isExpected(camera) {
        throw Problem.busy(.serviceUnavailable, "no node has camera '\(camera)' now", retryAfter: 2)
      }
    }
    return try registry.view(address.view, of: address.camera)
  }

  /// The view where its camera is, or will be soon.
  ///
  /// - Throws: as `find`; `CancellationError`.
  package func awaited(_ address: ViewAddress) async throws -> ServedPreview {
    if !address.isFromPeer, let camera = address.camera {
      try await catalogue.awaitOwner(of: camera, within: registry.patience.peerAnswer)
    }
    return try find(address)
  }

  /// Goes on with a view that has ended where its camera is next. A camera that is between two nodes is waited for as long as a node
  /// may take to answer.
  ///
  /// - Returns: what `begin` makes of the view; nil if the camera does not move, or nothing is shown of it any more.
  func next<Result: Sendable>(
    _ address: ViewAddress, _ begin: @Sendable (ServedPreview) throws -> Result
  ) async -> Result? {
    guard !address.isFromPeer, let camera = address.camera else { return nil }
    let deadline = CaptureClock.now + registry.patience.peerAnswer
    while !Task.isCancelled, catalogue.moves(camera) {
      let known = peers.changes.value
      do {
        if !catalogue.isBetweenNodes(camera) { return try begin(try find(address)) }
      } catch let problem as Problem where problem.status == .serviceUnavailable {
        // It moves on.
      } catch { return nil }
      guard let _ = try? await peers.changes.first(until: deadline, { $0 == known ? nil : true }) else {
        return nil
      }
    }
    return nil
  }
}

extension ViewDirectory {
  /// Continues a stream by `request`, with the view where its camera is next.
  package func nextVideo(
    _ address: ViewAddress, _ request: @escaping @Sendable (ServedPreview) throws -> VideoRequest
  ) -> VideoStream.Next {
    { begin in await next(address) { try begin(try request($0)) } != nil }
  }
}

extension Request {
  /// A view that this request asks for.
  package func address(of view: String?, _ camera: String?, as kind: StreamKind) -> ViewAddress {
    ViewAddress(
      view: view, camera: camera, kind: kind, parameters: uri.query ?? "", isFromPeer: isFromPeer)
  }

  /// The request without its body: what is left of it for later.
  var withoutBody: Request { Request(head: head, body: RequestBody(buffer: ByteBuffer())) }
}
