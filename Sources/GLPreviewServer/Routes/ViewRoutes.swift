// The routes that show views, which use one another.
internal import Hummingbird

struct ViewRoutes: Sendable {
  let streams: StreamRoutes
  let videos: VideoRoutes
  let sockets: WebSocketRoutes
  let snapshots: SnapshotRoutes
  let compatibility: CompatibilityRoutes

  /// `offers` answers offers of WebRTC by WebSocket.
  init(_ core: ServiceCore, offers: any OfferAnswering) {
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
      registeredStreams: core.streams)
  }

  func add(to group: ServiceRoutes) {
    streams.add(to: group)
    sockets.add(to: group)
    snapshots.add(to: group)
    compatibility.add(to: group)
  }
}
