// Finds views for all protocols: of this node's cameras, of other nodes' cameras, and of cameras that move
// between nodes.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// The kinds of streams of a camera at another node.
package enum StreamKind: Sendable, Hashable {
  case jpegs, video

  /// The parameter for videos whose clients can't wait long for a keyframe: WebRTC clients, and MSE clients
  /// if the camera's own keyframes are rare.
  package static let frequentKeys = "keyframe=2"
}

/// The names of a view, and the parameters that a client requests.
package struct ViewAddress: Sendable {
  /// The view's name; nil for the first view of the camera.
  package var view: String?
  /// The camera's name; nil for the first camera of this node.
  package var camera: String?
  var kind = StreamKind.video
  /// The parameters, as in the query of a URL. The camera's node applies them.
  package var parameters = ""
  /// Whether a peer sent the request. Peers see only this node's cameras, and follow moving cameras
  /// themselves.
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

  /// Whether a node of the cluster has a camera or scene of this name.
  func hasCamera(_ camera: String) -> Bool {
    catalogue.route(to: camera) != nil || catalogue.isExpected(camera)
      || (try? registry.served.view(nil, of: camera)) != nil
  }

  /// Returns the view at the node that currently serves its camera.
  ///
  /// - Throws: `Problem`: 404 if there is no such view, 503 if no node currently has the camera.
  func find(_ address: ViewAddress) throws -> ServedPreview {
    if !address.isFromPeer, let camera = address.camera {
      if let remoteView = try peers.view(address) { return remoteView }
      if catalogue.isExpected(camera) {
        throw Problem.busy(
          .serviceUnavailable, "no node serves camera '\(camera)' at the moment", retryAfter: 2)
      }
    }
    return try registry.view(address.view, of: address.camera)
  }

  /// Returns the view as `find` does, but first waits for a camera that is between two nodes.
  ///
  /// - Throws: the errors of `find`; `CancellationError`.
  package func awaited(_ address: ViewAddress) async throws -> ServedPreview {
    if !address.isFromPeer, let camera = address.camera {
      try await catalogue.awaitOwner(of: camera, within: registry.timeouts.peerAnswer)
    }
    return try find(address)
  }

  /// Continues a view that has ended, at the next node of its camera. Waits for a camera between two nodes as
  /// long as a node may take to answer.
  ///
  /// - Returns: the result of `begin` for the view; nil if the camera does not move, or the view is no longer
  ///   shown.
  func next<Result: Sendable>(
    _ address: ViewAddress, _ begin: @Sendable (ServedPreview) throws -> Result
  ) async -> Result? {
    guard !address.isFromPeer, let camera = address.camera else { return nil }
    let deadline = CaptureClock.now + registry.timeouts.peerAnswer
    while !Task.isCancelled, catalogue.moves(camera) {
      let known = peers.changes.value
      do {
        if !catalogue.isBetweenNodes(camera) {
          return try CameraRegistry.$isContinuing.withValue(true) { try begin(try find(address)) }
        }
      } catch let problem as Problem where problem.status == .serviceUnavailable {
        // The camera has no owner yet, or moves again.
      } catch { return nil }
      guard let _ = try? await peers.changes.first(until: deadline, { $0 == known ? nil : true }) else {
        return nil
      }
    }
    return nil
  }
}

extension ViewDirectory {
  /// Continues a video stream with `request`, at the next node of the view's camera.
  package func nextVideo(
    _ address: ViewAddress, _ request: @escaping @Sendable (ServedPreview) throws -> VideoRequest
  ) -> VideoStream.Next {
    { begin in await next(address) { try begin(try request($0)) } != nil }
  }
}

extension Request {
  /// Returns the address of a view that this request refers to.
  package func address(of view: String?, _ camera: String?, as kind: StreamKind) -> ViewAddress {
    ViewAddress(
      view: view, camera: camera, kind: kind, parameters: uri.query ?? "", isFromPeer: isFromPeer)
  }

  /// The request without its body, for later use.
  var withoutBody: Request { Request(head: head, body: RequestBody(buffer: ByteBuffer())) }
}
