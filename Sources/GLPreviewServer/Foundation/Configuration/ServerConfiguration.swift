// The configuration of a service: listen address, access rules, limits, cameras and scenes. The keys are in
// `ConfigurationKeys` and in the features. Values print without their secrets, for example when a library
// logs a configuration at level `debug`.

package struct ServerConfiguration: Sendable, Hashable {
  package var bind = ListenAddress.loopback
  /// The certificate and key for TLS; nil for no TLS.
  package var tls: TLSFiles?
  /// The access rules: tokens, users, origins and host names.
  package var access = AccessConfiguration()
  package var limits = ServiceLimits()
  /// The cluster settings: peers, or NATS servers.
  package var cluster = ClusterConfiguration()
  package var gpu = GPUDevice.Choice.automatic
  /// The processor that codes JPEGs.
  package var jpeg = JPEGProcessor.automatic
  /// Whether a software renderer is refused.
  package var requiresHardware = false
  /// The cameras, in order; may only be empty if there are other nodes. Names must be unique among cameras
  /// and scenes.
  package var cameras: [CameraConfiguration]
  /// The scenes. Each shows several cameras in one picture.
  package var scenes: [SceneConfiguration] = []
  /// Where snapshots are sent, in addition to the client that requested them.
  package var snapshots = SnapshotDestinations()
  /// The configuration of features.
  package var sections = ConfigurationSections<ServerConfiguration>()
  /// The timeouts that are not configurable.
  package var timeouts = ServiceTimeouts()

  /// Creates a service of `cameras` on loopback; by default of the test pattern.
  package init(cameras: [CameraConfiguration] = [.testPattern]) { self.cameras = cameras }
}

/// The timeouts that are not configurable. Tests use longer ones, because they must pass on slow machines
/// too.
package struct ServiceTimeouts: Sendable, Hashable {
  /// How long a camera may take to open before a fallback is shown.
  package var opening = Duration.seconds(1)
  /// The timeout of a snapshot whose request sets none.
  package var snapshot = Duration.seconds(5)
  /// The timeout of a stream's first picture. A fallback picture is available earlier.
  package var firstPicture = Duration.seconds(10)
  /// The time limit of active responses at shutdown. Cameras and their commands then get another second, so
  /// that shutdown takes at most five seconds.
  package var shutdown = Duration.milliseconds(3500)
  /// How long a client may read nothing at shutdown before its connection is reset.
  package var closing = Duration.seconds(1)
  /// How long a client that has closed its half of the connection may wait for an answer.
  package var halfClosed = Duration.seconds(1)
  /// The interval at which a peer's cameras are requested, and the longest interval for a peer that does not
  /// answer.
  package var peerPoll = Duration.seconds(2)
  package var lostPeerPoll = Duration.seconds(10)
  /// The timeout of such a request.
  package var peerList = Duration.seconds(5)
  /// The times after which a stream from a peer counts as stalled, and as lost.
  package var peerStream = LiveOptions()
  /// How long a stream from a peer continues without a viewer.
  package var peerStreamLingers = Duration.seconds(5)
  /// The intervals and timeouts of leases.
  package var leases = LeaseTimes()
  /// The timeouts of the connection to the MQTT server.
  package var mqtt = MQTTTimes()
  /// The timeout of a connection to a peer, and the longest silence of a peer; the latter exceeds the time
  /// that any snapshot may take.
  package var peerConnects = Duration.seconds(3)
  package var peerSilence = Duration.seconds(75)
  /// The timeout of a peer's answer to a request, up to its first byte; requests for snapshots may set a
  /// longer one.
  package var peerAnswer = Duration.seconds(15)
  /// The time limit for a connection to a NATS server.
  var brokerConnects = Duration.seconds(3)
  /// The longest silence of a NATS server. Leases do not change during it.
  var brokerSilence = Duration.seconds(4)
  /// How long a WebRTC client may take to connect, and how long a consent check is valid (RFC 7675).
  package var webRTCConsent = Duration.seconds(30)
}

/// The timeouts of the connection to an MQTT server.
package struct MQTTTimes: Sendable, Hashable {
  /// How long the server may take to accept the connection.
  package var answer = Duration.seconds(10)
  /// The longest silence of the server, and the interval of pings.
  package var silence = Duration.seconds(30)
  /// The longest pause between two attempts to connect.
  package var longestPause = Duration.seconds(30)
}

/// The files for TLS, in PEM format. Their paths are resolved.
package struct TLSFiles: Sendable, Hashable {
  /// The path of the certificate, followed by the certificates of its issuers.
  package var certificateChain: String
  /// The path of the private key.
  package var privateKey: String
}

/// The permissions of a client.
package enum Role: String, Sendable, Hashable, CaseIterable {
  /// View pages, streams, snapshots and events.
  case read
  /// Also change views, and trigger snapshots for all clients.
  case control
}

/// The tokens, users, origins and host names that a service accepts.
package struct AccessConfiguration: Sendable, Hashable {
  package struct Token: Sendable, Hashable, CustomStringConvertible {
    /// The text that clients send.
    package var secret: String
    package var role: Role

    package var description: String { "*** (\(role.rawValue))" }
  }

  package struct User: Sendable, Hashable, CustomStringConvertible {
    package var name: String
    /// The password in plain text.
    package var password: String
    package var role: Role

    package var description: String { "\(name):*** (\(role.rawValue))" }
  }

  package var tokens: [Token] = []
  /// The users for basic authentication and the dashboard's login.
  package var users: [User] = []
  /// Whether every request is allowed without credentials, even on an address that other machines can reach.
  package var isInsecure = false
  /// Origins whose pages may read responses, such as `https://home.example`; `*` allows all. Default: none.
  package var allowedOrigins: [String] = []
  /// Accepted host names besides addresses, `localhost` and the name in `bind`; `*` allows all.
  package var allowedHosts: [String] = []
  /// The address at which people reach the service; its host name is accepted, too.
  package var publicURL: PublicURL?
  /// The keys of signed links. The first one for a camera signs, all verify.
  package var linkKeys: [LinkKey] = []
  /// How long the links in messages of webhooks and MQTT are valid; nil for messages without links.
  package var eventLinks: Duration?

  /// Whether clients must authenticate themselves.
  package var asksForCredentials: Bool { !isInsecure && !(tokens.isEmpty && users.isEmpty) }
}

/// The resource limits of a service; `ConfigurationKeys` describes them.
package struct ServiceLimits: Sendable, Hashable {
  package var connections = 2000
  package var connectionsPerClient = 1000
  package var requestsPerSecond = 200.0
  package var requestBytes = 64 << 10
  package var pixels = 3840 * 2160
  package var adHocViews = 16
  package var webRTCSessions = 100
  /// In percent of the GPU's time; 0 for no limit.
  package var gpu = 90
  /// Nil for a quarter of the memory of the machine or the control group.
  package var memory: Int?
  package var stalledClient = Duration.seconds(30)
  package var idleConnection = Duration.seconds(75)
}

package struct CameraConfiguration: Sendable, Hashable, CustomStringConvertible {
  /// The name in URLs.
  package var name: String
  /// The source, as `SourceLocator` parses it.
  package var source: String
  /// How the source is read. By default, pictures have at most 50 megapixels, and 32 MiB compressed: cameras
  /// may be hostile.
  package var options = CameraConfiguration.usualOptions
  /// The node that serves the camera; nil for this node, or for any node if it is a network camera and there
  /// are leases.
  package var home: CameraNode?
  /// Whether the camera stays open without viewers.
  package var keepsWarm = false
  /// The settings of motion detection; nil to disable it.
  package var motion: MotionSettings?
  /// The duration of the replay buffer; nil for no buffer.
  package var replayDuration: Duration?
  /// The most memory of the replay buffer, in bytes.
  package var replayBytes = 64_000_000
  /// The delay of snapshot triggers: snapshots by trigger use the frame from that much earlier.
  package var triggerDelay = Duration.zero
  /// The frames or time to discard after the camera opens.
  package var warmup = Warmup.none
  /// Whether the service is ready only while this camera delivers pictures.
  package var isRequired = true
  /// A picture file to show while the camera is off or lost; nil shows NO SIGNAL.
  package var avatar: String?
  /// The snapshot of a camera that delivers no frames.
  package var offline = SnapshotRequest.FallbackPolicy.placeholder
  /// How its JPEGs are decoded for the streams of views that do not say.
  package var decode = StreamDecoding.exact
  /// The configuration of features for this camera.
  package var sections = ConfigurationSections<CameraConfiguration>()
  /// The views of the camera: at least one, with unique names.
  package var views: [ServedView]

  /// Creates a camera; by default with one view, `main`.
  package init(name: String = "camera", source: String, views: [ServedView] = [ServedView()]) {
    self.name = name
    self.source = source
    self.views = views
  }

  /// The settings of the replay buffer; nil for no buffer.
  package var replay: Replay? { replayDuration.map { Replay($0, maximumBytes: replayBytes) } }

  /// The name, and the source without its secrets.
  package var description: String { "\(name): \(SourceLocator(source))" }

  package static let usualOptions: SourceOptions = {
    var options = SourceOptions(maximumPixels: 50_000_000)
    options.maximumPictureBytes = 32 << 20
    return options
  }()

  /// The built-in test pattern. Its counter shows that pictures are live.
  package static let testPattern = CameraConfiguration(source: "pattern:counter,size=1280x720,fps=30")
}

/// How the JPEGs of a camera are decoded for streams.
package enum StreamDecoding: String, Sendable, CaseIterable {
  /// All of them.
  case exact
  /// At 1/2, 1/4 or 1/8 of their size where all watched views stay smaller.
  case fast
}

/// The configuration of a view.
package struct ServedView: Sendable, Hashable {
  /// The view's picture settings. Its name is used in URLs.
  package var view: ViewConfiguration
  /// The maximum number of pictures per second; nil for every frame.
  package var framesPerSecond: Double?
  /// The JPEG quality, 1...100; nil to pass the camera's own JPEGs through if the view shows them unchanged.
  package var quality: Int?
  /// The settings of its H.264 encoding.
  package var video = VideoConfiguration()
  /// How JPEGs are decoded for its streams; nil as the camera says, or `exact`.
  package var decode: StreamDecoding?
  package var isEnabled = true
  /// Whether URLs can't change the view, so that clients see no other part of the camera.
  package var isLocked = false
  /// The poses to which a request can move the view, by name.
  package var positions: [String: PoseChange] = [:]
  /// Whether a URL's parameters set a part of its pose. It then does not move with the configured view.
  package var setsPose = false

  /// The positions as a list, by name.
  package var namedPositions: [NamedPosition] {
    get { positions.sorted { $0.key < $1.key }.map { NamedPosition(name: $0.key, pose: $0.value) } }
    set { positions = Dictionary(newValue.map { ($0.name, $0.pose) }) { $1 } }
  }

  package init(_ view: ViewConfiguration = ViewConfiguration()) { self.view = view }

  /// The quality of encoded JPEGs.
  package var encodedQuality: Int { quality ?? 80 }
}

/// A pose to which requests can move a view.
package struct NamedPosition: Sendable, Hashable {
  package let name: String
  /// The numbers that the view has there; the others stay as they are.
  package var pose = PoseChange()
}

/// The configuration of a scene: several cameras in one picture.
package struct SceneConfiguration: Sendable, Hashable {
  /// The name in URLs, in place of a camera's. The only view of a scene is `main`.
  package var name: String
  /// The layout and its tiles, which refer to cameras by name.
  package var scene: Scene
  /// The maximum number of pictures per second; nil for 30.
  package var framesPerSecond: Double?
  /// The JPEG quality, 1...100.
  package var quality = 80
  /// The settings of its H.264 encoding.
  package var video = VideoConfiguration()
  /// The configuration of features for this scene.
  package var sections = ConfigurationSections<SceneConfiguration>()
}

/// Where snapshots are sent, in addition to the client that requested them.
package struct SnapshotDestinations: Sendable, Hashable {
  /// A folder that stores snapshots; nil for none.
  package var folder: FolderConfiguration?
  /// A server that receives snapshot and motion events; nil for none.
  package var webhook: WebhookConfiguration?
  /// The stores on other machines, which only schedules use, sorted by name.
  package var stores: [StoreConfiguration] = [] { didSet { stores.sort { $0.name < $1.name } } }
}

/// A folder of snapshots or recordings, and its limits; nil means no limit. The oldest files are removed
/// first.
package struct FolderConfiguration: Sendable, Hashable {
  /// The absolute path.
  package var path: String
  package var maximumAge: Duration?
  package var maximumCount: Int?
  package var maximumBytes: Int?

  package init(
    path: String, maximumAge: Duration? = nil, maximumCount: Int? = nil, maximumBytes: Int? = nil
  ) {
    (self.path, self.maximumAge) = (path, maximumAge)
    (self.maximumCount, self.maximumBytes) = (maximumCount, maximumBytes)
  }
}

/// A server that receives a POST request for each snapshot and motion event; `ConfigurationKeys` describes
/// the values.
package struct WebhookConfiguration: Sendable, Hashable, CustomStringConvertible {
  package var url: String
  package var secret: String?
  package var maximumEventBytes = 100_000
  package var attempts = 5
  package var capacity = 64

  /// The URL without its secrets.
  package var description: String { Redaction.source(url) }
}
