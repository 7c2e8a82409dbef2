// The routes that show views, which depend on one another.
internal import Hummingbird

package struct ViewRoutes: Sendable {
  package let streams: StreamRoutes
  package let videos: VideoRoutes
  package let sockets: WebSocketRoutes
  let snapshots: SnapshotRoutes
  package let compatibility: CompatibilityRoutes

  /// `offers` answers WebRTC offers that arrive by WebSocket.
  package init(_ core: ServiceCore, offers: any OfferAnswering) {
    let (registry, directory) = (core.registry, core.directory)
    streams = StreamRoutes(registry: registry, streams: core.streams, directory: directory)
    videos = VideoRoutes(
      registry: registry, streams: core.videos, clips: core.clips, directory: directory)
    sockets = WebSocketRoutes(
      registry: registry, joined: streams, videos: videos, offers: offers,
      stalledAfter: core.configuration.limits.stalledClient, metrics: core.metrics)
    snapshots = SnapshotRoutes(
      registry: registry, snapshots: core.snapshots, streams: streams, videos: videos)
    compatibility = CompatibilityRoutes(
      registry: registry, watch: core.watch, snapshots: snapshots, streams: streams, videos: videos,
      registeredStreams: core.streams, renderer: core.renderer)
  }

  package func add(to group: ServiceRoutes) {
    streams.add(to: group)
    sockets.add(to: group)
    snapshots.add(to: group)
    compatibility.add(to: group)
  }
}
