// The settings of a source, apart from its name.

/// The settings with which a source is read.
public struct SourceOptions: Sendable, Hashable {
  /// The pixel format of raw files, which can't be detected. If it is set, every file is read as raw.
  public var inputFormat: PixelFormat?
  /// The frame size, for raw files and patterns.
  public var inputSize: Size?
  /// Frames per second for a source that reports no rate, 0.001...1000; nil means 30.
  public var framesPerSecond: Double?
  /// The largest picture, in pixels. Larger ones are refused before memory is allocated for them. Default:
  /// 100 megapixels.
  public var maximumPixels: Int
  /// The most bytes of one compressed picture of a stream. A larger one counts as damaged. Nil, the default,
  /// allows the size of noise at the highest quality: 3 bytes for each of `maximumPixels`.
  public var maximumPictureBytes: Int?
  /// The user's colour settings, which override the source's.
  public var color: ColorDescription.Override
  /// The size at which JPEGs are decoded, chosen for each one, because a stream may change its size. Default:
  /// full size.
  package var decoding = Decoding.exact
  /// The areas that are hidden in every frame, before anything else reads it, in pixels of the source at its
  /// reference size. Where two overlap, the later one applies to the result of the earlier one. On frames of
  /// another size with the same aspect ratio, masks are scaled in proportion and rounded outwards.
  public var masks: [PrivacyMask] = []
  /// The lens. Views with a `projection` use it, unless they have one of their own. Its pixels are those of its `size`,
  /// or without one those of the reference size. Default: none.
  public var lens: Lens?
  /// The upright size whose pixels masks and crops refer to. Nil means a camera's configured or else largest
  /// size, or, for a source with only one size, the size of its first frame. A camera with masks always uses
  /// this size, because many sensors show a different part of the scene in their smaller modes.
  public var referenceSize: Size?
  /// Live sources: delivery of pictures, and time limits.
  public var live = LiveOptions()
  /// Live sources with several modes: the minimum size and frame rate that are needed.
  public var demand = Demand()
  /// Cameras: the controls to set when the camera opens, in this order.
  public var controls: [CameraControl.Setting] = []
  /// Cameras: whether the renderer reads pictures where the camera writes them. Default: off.
  public var dmaBuffers = DMABufferUse.off
  /// RTSP: the transport. `#transport=udp` at the end of an address overrides it.
  public var streamTransport = StreamTransport.automatic
  /// HTTP and RTSP: the redirects that are followed. A camera could otherwise redirect to any host on the
  /// network.
  public var redirects = RedirectPolicy.sameHost
  /// HTTP: additional header fields of requests.
  public var headers: [HeaderField] = []
  /// HTTPS and RTSPS: the certificates that are accepted from the server. Nil, the default, is `.system` for
  /// HTTPS and, until version 0.3, `.any` for RTSPS. It applies to the host of the address. If the server
  /// redirects to another host, that host is verified as `.system`. A source without TLS is refused if this
  /// is set.
  public var certificate: CertificateTrust?
  /// HTTPS: the path of a PEM file with certificates that are trusted in addition to the system's; nil for
  /// none.
  package var trustedCertificates: String?

  /// HTTP: whether the server is another node, which sends H.264 in MP4 fragments. Default: false.
  package var takesVideo = false

  /// Counts the ended connections of a live source, so that new viewers do not get their pictures. Nil if new
  /// viewers may get them.
  package var endedConnections: EndedConnections?

  /// Network streams: whether H.264 that can be passed through is decoded only where frames are requested.
  /// Default: false.
  package var passesVideo = false

  /// Live sources: the buffer that stores pictures as they arrive; nil for none.
  package var replay: ReplayBuffer?

  /// Live sources: readers that need every picture. Replaced pictures count as dropped only while there are
  /// any. Nil counts all replaced pictures.
  package var eagerReaders: EagerReaders?

  /// The memory pool of frames, with the budget that the whole source counts against. Nil gives the source
  /// its own pool without a budget.
  package var memory: FramePool?

  /// Creates options. Values that are not given are taken from the source.
  public init(
    inputFormat: PixelFormat? = nil, inputSize: Size? = nil, framesPerSecond: Double? = nil,
    maximumPixels: Int = 100_000_000, color: ColorDescription.Override = ColorDescription.Override()
  ) {
    self.inputFormat = inputFormat
    self.inputSize = inputSize
    self.framesPerSecond = framesPerSecond
    self.maximumPixels = maximumPixels
    self.color = color
  }

  package var pictureLimit: Int {
    // Noise at quality 100 takes less than 3 bytes per pixel.
    maximumPictureBytes ?? 3 * min(maximumPixels, 1 << 40) + 1 << 20
  }

  /// Whether a source with several sizes uses its reference size, regardless of any other demand.
  package var isPinned: Bool { demand.isPinned || !masks.isEmpty }

  /// Whether a camera's buffers may be read in place. Masks are drawn in memory, before anything else reads a picture.
  package var sharesBuffers: Bool { dmaBuffers == .automatic && masks.isEmpty }

  /// Whether the source's original JPEGs may be shown: there are no masks, and no colour setting changes the
  /// meaning of JFIF samples.
  package var showsJPEGs: Bool { masks.isEmpty && color.applied(to: .jfif) == .jfif }

  /// Whether the source's original H.264 may be shown: there are no masks and no colour settings.
  package var showsVideo: Bool { masks.isEmpty && color == ColorDescription.Override() }

  /// The time at which decoding that starts now is abandoned, because a live source's next picture may decode
  /// faster.
  package var decodingDeadline: CaptureInstant { CaptureClock.now + live.reconnectsAfter }
}

extension SourceOptions {
  /// The requirements on a source with several modes. The source uses the cheapest mode that satisfies them.
  public struct Demand: Sendable, Hashable {
    /// The minimum size of stored pictures, if the source has it; nil lets the source choose.
    public var minimumSize: Size?
    /// The minimum number of pictures per second, if the source has it; nil lets the source choose.
    public var framesPerSecond: Double?
    /// Whether pictures must have the reference size (`SourceOptions.referenceSize`), as crops require. If
    /// true, `minimumSize` is ignored.
    public var isPinned: Bool

    /// Creates a demand; empty by default.
    public init(minimumSize: Size? = nil, framesPerSecond: Double? = nil, isPinned: Bool = false) {
      self.minimumSize = minimumSize
      self.framesPerSecond = framesPerSecond
      self.isPinned = isPinned
    }
  }

  /// Whether a camera writes its pictures into buffers that the renderer reads in place (Linux's dma-buf), so that they are never
  /// copied.
  public enum DMABufferUse: String, Sendable, Hashable, CaseIterable {
    /// Pictures are copied.
    case off
    /// Pictures are read in place where the camera, its format and the renderer allow that, and copied elsewhere. Pictures of a
    /// camera with masks are always copied.
    case automatic = "auto"
  }

  /// The transport to request from an RTSP server.
  public enum StreamTransport: String, Sendable, Hashable, CaseIterable {
    /// TCP; UDP if the server refuses TCP.
    case automatic
    /// Pictures travel on the RTSP connection: nothing is lost, but a late packet delays the following ones.
    case tcp
    /// Pictures travel in separate packets: a late packet is lost, with all pictures that depend on it.
    case udp
  }

  /// The redirects that are followed.
  public enum RedirectPolicy: String, Sendable, Hashable, CaseIterable {
    /// Redirects to the same host, on any port.
    case sameHost = "same-host"
    /// All redirects. Passwords and other data meant for one server are still not sent to another.
    case any
    /// No redirects.
    case none

    /// Returns why a redirect from one host to another is refused; nil if it is followed.
    package func refusal(from host: String, to other: String) -> String? {
      switch self {
      case .any: nil
      case .sameHost where host.lowercased() == other.lowercased(): nil
      case .sameHost: "redirects to another host (\(other)); only redirects: any allows this"
      case .none: "redirects; redirects: none does not allow this"
      }
    }
  }

  /// A header field of an HTTP request: `Authorization: Bearer ...`.
  public struct HeaderField: Sendable, Hashable, CustomStringConvertible {
    /// The part before the colon.
    public var name: String
    /// The part after the colon.
    public var value: String

    /// Creates a field. It is checked when the source opens.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }

    /// The name only, because the value may be a secret.
    public var description: String { "\(name): ***" }
  }
}

extension SourceOptions.Demand {
  /// Demands the reference size if a view has a crop; otherwise the size of the largest view, if every view
  /// has a size.
  package init(for views: [ViewConfiguration]) {
    self =
      views.contains(where: \.isCropped)
      ? SourceOptions.Demand(isPinned: true) : SourceOptions.Demand(atLeast: views.map(\.wantedSize))
  }

  /// Demands the maximum of `sizes`; nothing if there are none or one is nil.
  package init(atLeast sizes: [Size?]) {
    self.init()
    guard !sizes.isEmpty, !sizes.contains(nil) else { return }
    minimumSize = sizes.compactMap(\.self).reduce(Size(width: 1, height: 1)) {
      Size(width: max($0.width, $1.width), height: max($0.height, $1.height))
    }
  }
}

extension ViewConfiguration {
  /// The size of the view's pictures in the source's stored orientation; nil if it has a crop or no size of
  /// its own.
  package var wantedSize: Size? {
    guard !isCropped, width != nil || height != nil else { return nil }
    let size = Size(width: width ?? 1, height: height ?? 1)
    // An invalid size is reported when the view is drawn.
    let sides = 1...Size.maximumSide
    guard sides.contains(size.width), sides.contains(size.height) else { return nil }
    return Orientation(rotation).swapsAxes ? size.transposed : size
  }
}

/// The behaviour of a live source.
public struct LiveOptions: Sendable, Hashable {
  /// The handling of pictures that arrive faster than they are requested.
  public enum Delivery: Sendable, Hashable {
    /// Keeps the newest picture; earlier ones are dropped and counted. For previews.
    case newest
    /// Queues every picture, up to this many bytes. When the queue is full, a pipe's writer waits, and a
    /// camera drops pictures.
    case every(maximumBytes: Int)
  }

  /// The handling of pictures that arrive faster than they are requested. Default: `.newest`.
  public var delivery: Delivery
  /// The time without a picture after which a source is stalled. Default: 2 seconds.
  public var stallsAfter: Duration
  /// The time without a picture after which a connection is closed and made again. Default: 10 seconds.
  public var reconnectsAfter: Duration
  /// The time limit for making a connection. Default: 10 seconds.
  public var connectsWithin: Duration
  /// How long to retry a lost source, counted from its last picture or the first attempt. Then `nextFrame`
  /// throws the reason. Zero throws at the first failure. Nil, the default, never gives up unless no retry
  /// can succeed.
  public var givesUpAfter: Duration?

  /// Creates options. By default, only the newest picture is delivered, and retries never end.
  public init(
    delivery: Delivery = .newest, stallsAfter: Duration = .seconds(2),
    reconnectsAfter: Duration = .seconds(10), connectsWithin: Duration = .seconds(10),
    givesUpAfter: Duration? = nil
  ) {
    self.delivery = delivery
    self.stallsAfter = stallsAfter
    self.reconnectsAfter = reconnectsAfter
    self.connectsWithin = connectsWithin
    self.givesUpAfter = givesUpAfter
  }
}
