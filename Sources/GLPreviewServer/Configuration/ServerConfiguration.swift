// The configuration of a service: address, access rules, limits, cameras and scenes. ConfigurationKeys has the keys.
// Values print without their secrets, for example when a library logs a configuration at level `debug`.
package import GLPreview

package struct ServerConfiguration: Sendable, Hashable {
  package var bind = BindAddress.loopback
  /// The certificate and key for TLS; nil for no TLS.
  package var tls: TLSFiles?
  /// The access rules: tokens, users, origins and host names.
  package var access = AccessConfiguration()
  package var limits = ServiceLimits()
  package var webRTC = WebRTCConfiguration()
  /// The RTSP server.
  package var rtsp = RTSPConfiguration()
  /// The other nodes.
  package var cluster = ClusterConfiguration()
  package var gpu = GPUDevice.Choice.automatic
  /// Whether a software renderer is refused.
  package var requiresHardware = false
  /// The cameras, in order; none only beside peers. Names must be unique among cameras and scenes.
  package var cameras: [CameraConfiguration]
  /// The scenes, each of several cameras in one picture.
  package var scenes: [SceneConfiguration] = []
  /// Where snapshots are sent, in addition to the client that requested them.
  package var snapshots = SnapshotDestinations()
  /// The timeouts that no key sets.
  var patience = ServicePatience()

  /// Creates a service of `cameras` on loopback; by default of the test pattern.
  package init(cameras: [CameraConfiguration] = [.testPattern]) { self.cameras = cameras }
}

/// The timeouts that no key sets. Tests make them longer, because they must pass on slow machines too.
struct ServicePatience: Sendable, Hashable {
  /// How long a camera may take to open before a fallback is shown.
  var opening = Duration.seconds(1)
  /// The timeout of a snapshot whose request sets none.
  var snapshot = Duration.seconds(5)
  /// The timeout of a stream's first picture. A fallback is available earlier.
  var firstPicture = Duration.seconds(10)
  /// The time limit of active responses at shutdown. Cameras and their commands then get another second, so that
  /// shutdown takes at most five seconds.
  var shutdown = Duration.milliseconds(3500)
  /// How often a peer is asked for its cameras, and how often at most one that does not answer.
  var peerPoll = Duration.seconds(2)
  var lostPeerPoll = Duration.seconds(10)
  /// The time limit of that answer.
  var peerList = Duration.seconds(5)
  /// The time limit of a peer's answer to a request, up to its first byte; snapshots may ask for more.
  var peerAnswer = Duration.seconds(15)
