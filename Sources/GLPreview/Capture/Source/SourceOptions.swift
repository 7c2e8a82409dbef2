// What the user may say about a source beside its name.
public import PreviewCore

/// How a source is to be read.
public struct SourceOptions: Sendable, Hashable {
  /// The samples' layout, for raw files only: bytes can't tell it. Given, whatever is there is read as raw.
  public var inputFormat: PixelFormat?
  /// The frames' size, for raw files and patterns.
  public var inputSize: Size?
  /// Frames in a second where the source does not say, 0.001...1000; nil takes 30.
  public var framesPerSecond: Double?
  /// What is larger is refused before memory is taken for it. 100 megapixels unless told.
  public var maximumPixels: Int
  /// The most bytes of one compressed picture of a stream; a larger one is damaged. Nil, the default, is what noise takes at
  /// the highest quality: 3 bytes for each of `maximumPixels`.
  public var maximumPictureBytes: Int?
  /// What the user knows better about the colours than the source.
  public var color: ColorOverride
  /// How large JPEGs are decoded, each by itself: a stream may change its size. In full unless told.
  package var decoding = Decoding.exact
  /// What is hidden of every frame, before anybody has it.
  public var masks = PrivacyMasks.none
  /// The size of the upright source in whose pixels masks and crops are. Nil is the size that a camera is told to have, else
  /// the largest that it offers; of a source without a choice of sizes, that of its first frame. A camera with masks is set
  /// to this size and no other, since many sensors show another part in their smaller modes.
  public var referenceSize: Size?
  /// Live sources: what becomes of pictures that nobody took, and how patient they are.
  public var live = LiveOptions()
  /// Live sources that can choose: what is wanted of them at least.
  public var demand = CaptureDemand()
  /// Cameras: controls and the values that they are set to when it opens, in this order.
  public var controls: [CameraControlSetting] = []
  /// RTSP: what pictures travel by. `#transport=udp` at the end of an address wins.
  public var streamTransport = StreamTransport.automatic
  /// HTTP and RTSP: which redirections are followed. A camera could otherwise have us knock at any door of the network.
  public var redirects = RedirectPolicy.sameHost
  /// HTTP: fields that requests carry beside ours.
  public var headers: [HeaderField] = []

  /// Where memory for frames comes from, and the budget that all of the source counts against; nil lets a source have a pool
  /// of its own, without a budget. Patterns take none.
  package var memory: FramePool?

  /// Nothing is overridden, and what is not told is found out.
  public init(
    inputFormat: PixelFormat? = nil, inputSize: Size? = nil, framesPerSecond: Double? = nil,
    maximumPixels: Int = 100_000_000, color: ColorOverride = ColorOverride()
  ) {
    self.inputFormat = inputFormat
    self.inputSize = inputSize
    self.framesPerSecond = framesPerSecond
    self.maximumPixels = maximumPixels
    self.color = color
  }

  /// Bytes of a compressed picture that are kept at most.
  var pictureLimit: Int {
    // Noise at quality 100 takes less than 3 bytes a pixel.
    maximumPictureBytes ?? 3 * min(maximumPixels, 1 << 40) + 1 << 20
  }

  /// When a picture whose decoding begins now is given up: a live source's next one may be better.
  var decodingDeadline: Duration { CaptureClock.now + live.reconnectsAfter }
}

/// What is wanted of a source that can choose: the cheapest that serves is taken.
public struct CaptureDemand: Sendable, Hashable {
  /// Pictures at least as large, as stored, where there are such; nil leaves it to the source.
  public var minimumSize: Size?
  /// At least as many pictures a second, where there are; nil leaves it to the source.
  public var framesPerSecond: Double?
  /// Whether pictures are to be of the reference size (`SourceOptions.referenceSize`), as crops want it; then `minimumSize`
  /// says nothing.
  public var isPinned: Bool

  /// Nothing in particular.
  public init(minimumSize: Size? = nil, framesPerSecond: Double? = nil, isPinned: Bool = false) {
    self.minimumSize = minimumSize
    self.framesPerSecond = framesPerSecond
    self.isPinned = isPinned
  }
}

/// A camera's control and what it is set to: `exposure_auto=1`.
public struct CameraControlSetting: Sendable, Hashable {
  /// As `glpreview devices` lists it.
  public var name: String
  /// A number, `true`, `false`, or a menu's words.
  public var value: String

  /// Checked when the camera opens.
  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// What an RTSP server is asked to send its pictures by.
public enum StreamTransport: String, Sendable, Hashable, CaseIterable {
  /// TCP, and where the server refuses that, UDP.
  case automatic
  /// Within the connection: nothing is lost, and what is late delays what follows.
  case tcp
  /// Beside it: what is late is lost, with all that rests on it.
  case udp
}

/// Which redirections of a server are followed.
public enum RedirectPolicy: String, Sendable, Hashable, CaseIterable {
  /// Those to the same host, whatever the port.
  case sameHost = "same-host"
  /// All. What is meant for one server, such as a password, is still not sent to another.
  case any
  /// None.
  case none

  /// Why a redirection from one host to another is not followed; nil where it is.
  func refusal(from host: String, to other: String) -> String? {
    switch self {
    case .any: nil
    case .sameHost where host.lowercased() == other.lowercased(): nil
    case .sameHost: "redirects to another host (\(other)), which only redirects: any allows"
    case .none: "redirects, which redirects: none does not allow"
    }
  }
}

/// A field of an HTTP request: `Authorization: Bearer ...`.
public struct HeaderField: Sendable, Hashable, CustomStringConvertible {
  /// Before the colon.
  public var name: String
  /// After it.
  public var value: String

  /// Checked when the source opens.
  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }

  /// Without its value, which may be a secret.
  public var description: String { "\(name): ***" }
}

extension SourceOptions {
  /// Whether a source with a choice of sizes takes its reference size, whatever else is wanted.
  var isPinned: Bool { demand.isPinned || !masks.isEmpty }
}
