// What a service is told: where it listens, to whom it answers, what it serves. Values alone; ConfigurationKeys are their keys.
package import GLPreview

/// All that a service is told.
package struct ServerConfiguration: Sendable, Hashable {
  /// Where it listens.
  package var bind = BindAddress.loopback
  /// Certificates, where it speaks TLS.
  package var tls: TLSFiles?
  /// To whom it answers.
  package var access = AccessConfiguration()
  /// How much of anything it allows.
  package var limits = ServiceLimits()
  /// On which GPU it draws.
  package var gpu = GPUChoice.automatic
  /// Whether a software renderer is refused.
  package var requiresHardware = false
  /// What it serves, in order; names are different, from cameras' and scenes' both.
  package var cameras: [CameraConfiguration]
  /// Several cameras in one picture.
  package var scenes: [SceneConfiguration] = []
  /// Where snapshots go beside the one who asked.
  package var snapshots = SnapshotDestinations()
  /// How long it waits, where no key says so.
  var patience = ServicePatience()

  /// A service of `cameras` on loopback.
  package init(cameras: [CameraConfiguration] = [.testPattern]) { self.cameras = cameras }
}

/// Times that no key sets. Tests, which must hold on a machine of any speed, give them all the time there is.
struct ServicePatience: Sendable, Hashable {
  /// How long a camera may take to open before a fallback stands in for it.
  var opening = Duration.seconds(1)
  /// How long a snapshot may take whose request says nothing of it.
  var snapshot = Duration.seconds(5)
  /// How long a stream's first picture may take: a fallback is there before that.
  var firstPicture = Duration.seconds(10)
  /// How long clients that are being answered may take when the service ends. Cameras and their commands then have a
  /// second more: five seconds in all.
  var shutdown = Duration.milliseconds(3500)
}

/// Files of TLS, PEM.
package struct TLSFiles: Sendable, Hashable {
  /// The certificate, and those that it rests on, in that order.
  package var certificateChain: String
  /// Its private key.
  package var privateKey: String

  /// Files, resolved once.
  package init(certificateChain: String, privateKey: String) {
    self.certificateChain = certificateChain
    self.privateKey = privateKey
  }
}

/// What somebody may do.
package enum Role: String, Sendable, Hashable, CaseIterable {
  /// Look: pages, streams, snapshots, events.
  case read
  /// Change views too, and have snapshots taken for all.
  case control
}

/// To whom a service answers.
package struct AccessConfiguration: Sendable, Hashable {
  /// A secret that opens the door.
  package struct Token: Sendable, Hashable {
    /// What is shown.
    package var secret: String
    /// What it opens.
    package var role: Role

    /// A token.
    package init(secret: String, role: Role) {
      self.secret = secret
      self.role = role
    }
  }

  /// Somebody with a password.
  package struct User: Sendable, Hashable {
    /// As it is typed.
    package var name: String
    /// As it is typed.
    package var password: String
    /// What is allowed.
    package var role: Role

    /// A user.
    package init(name: String, password: String, role: Role) {
      self.name = name
      self.password = password
      self.role = role
    }
  }

  /// Bearer tokens.
  package var tokens: [Token] = []
  /// For basic authentication, and the dashboard's login.
  package var users: [User] = []
  /// Whether it answers everybody, wherever it listens.
  package var isInsecure = false
  /// Origins whose pages may read answers, such as `https://home.example`; `*` is all. None unless told.
  package var allowedOrigins: [String] = []
  /// Names by which it is called beside addresses, `localhost` and the name that it is bound to; `*` is all.
  package var allowedHosts: [String] = []

  /// Nobody in particular.
  package init() {}

  /// Whether somebody has to say who he is.
  package var asksForCredentials: Bool { !isInsecure && !(tokens.isEmpty && users.isEmpty) }
}

/// How much of anything a service allows; `ConfigurationKeys` says what each is.
package struct ServiceLimits: Sendable, Hashable {
  package var connections = 2000
  package var connectionsPerClient = 1000
  package var requestsPerSecond = 200.0
  package var requestBytes = 64 << 10
  package var pixels = 3840 * 2160
  package var adHocViews = 16
  /// Nil is a quarter of the machine's memory, or of the control group's.
  package var memory: Int?
  package var stalledClient = Duration.seconds(30)
  package var idleConnection = Duration.seconds(75)

  /// The usual ones.
  package init() {}
}

/// A camera of a service.
package struct CameraConfiguration: Sendable, Hashable {
  /// In URLs.
  package var name: String
  /// As `SourceLocator` takes it.
  package var source: String
  /// How it is read. Unless told, pictures have at most 50 megapixels, and 32 MiB compressed: cameras may be hostile.
  package var options = CameraConfiguration.usualOptions
  /// Whether it stays open while nobody looks.
  package var keepsWarm = false
  /// Whether the service is ready only while it gives pictures.
  package var isRequired = true
  /// A picture file that stands in for it where it is off or lost; nil shows NO SIGNAL.
  package var avatar: String?
  /// What a snapshot of it is where it gives nothing.
  package var offline = FallbackPolicy.placeholder
  /// What is seen of it; at least one, names are different.
  package var views: [ServedView]

  /// A camera with a view `main`, unless told.
  package init(name: String = "camera", source: String, views: [ServedView] = [ServedView()]) {
    self.name = name
    self.source = source
    self.views = views
  }

  private static let usualOptions: SourceOptions = {
    var options = SourceOptions(maximumPixels: 50_000_000)
    options.maximumPictureBytes = 32 << 20
    return options
  }()

  /// The embedded pattern, whose counter shows that it is alive.
  package static let testPattern = CameraConfiguration(source: "pattern:counter,size=1280x720,fps=30")
}

/// A view as it is served.
package struct ServedView: Sendable, Hashable {
  /// What is seen; its name is in URLs.
  package var view: ViewConfiguration
  /// Pictures a second at most; nil is every frame.
  package var framesPerSecond: Double?
  /// Of JPEGs, 1...100.
  package var quality = 80
  /// Whether it gives pictures.
  package var isEnabled = true
  /// Whether nobody may ask for it in another way: who may see this view sees nothing else of the camera.
  package var isLocked = false

  /// All of the source as it is, unless said otherwise.
  package init(_ view: ViewConfiguration = ViewConfiguration()) { self.view = view }
}

/// Several cameras in one picture, as they are served.
package struct SceneConfiguration: Sendable, Hashable {
  /// In URLs, where a camera's stands; its one view is `main`.
  package var name: String
  /// What is seen; its tiles name cameras.
  package var scene: Scene
  /// Pictures a second at most; nil is 30.
  package var framesPerSecond: Double?
  /// Of JPEGs, 1...100.
  package var quality = 80

  /// A scene.
  package init(name: String, scene: Scene) {
    self.name = name
    self.scene = scene
  }
}

/// Where snapshots go beside the one who asked.
package struct SnapshotDestinations: Sendable, Hashable {
  /// A folder that keeps them; nil keeps none.
  package var folder: SnapshotFolderConfiguration?
  /// A server that is told of them; nil tells none.
  package var webhook: WebhookConfiguration?

  /// Nowhere.
  package init() {}
}

/// A folder of snapshots, and how much of them is kept: nil is no limit, the oldest go first.
package struct SnapshotFolderConfiguration: Sendable, Hashable {
  /// Absolute.
  package var path: String
  package var maximumAge: Duration?
  package var maximumCount: Int?
  package var maximumBytes: Int?

  /// A folder without limits.
  package init(path: String) { self.path = path }
}

/// A server that is told of each snapshot, by POST; `ConfigurationKeys` says what each is.
package struct WebhookConfiguration: Sendable, Hashable {
  package var url: String
  package var secret: String?
  package var maximumEventBytes = 100_000
  package var attempts = 5
  package var capacity = 64

  /// A server.
  package init(url: String) { self.url = url }
}
