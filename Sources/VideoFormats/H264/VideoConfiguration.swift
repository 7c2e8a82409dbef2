// The H.264 settings of pictures: quality, the limit of the bit rate, keyframes, and the encoder.

/// The H.264 settings of a preview. Viewers of a preview with equal configurations share one encoder.
public struct VideoConfiguration: Sendable, Hashable {
  /// An H.264 encoder.
  public enum Encoder: String, Sendable, Hashable, CaseIterable {
    /// The first of the encoders below that can encode the picture: hardware before software.
    case automatic = "auto"
    /// V4L2 encoders of single-board computers, such as the Raspberry Pi up to 4.
    case v4l2m2m
    /// Intel and AMD GPUs (VA-API).
    case vaapi
    /// Nvidia GPUs.
    case nvenc
    /// x264, a software encoder in FFmpeg; GPL.
    case x264
    /// Cisco's OpenH264, a software encoder in its own library; BSD.
    case openh264
  }

  /// The maximum bit rate, in bits per second over half a second, 16,000...1,000,000,000. Nil, the default,
  /// allows four bits per second for each pixel of the picture, and at least 250,000: 0.9 Mbit/s for 640x360,
  /// 3.7 Mbit/s for 1280x720.
  public var bitrate: Int? {
    didSet { bitrate = Self.held(bitrate) }
  }
  /// The quality, 1...100. The default, 80, looks like a JPEG of that quality, or better. The bit rate limits
  /// it.
  public var quality: Int {
    didSet { quality = Self.held(quality) }
  }
  /// The longest time between two keyframes, 0.1...60 seconds; 10 seconds by default. A viewer that joins
  /// gets an additional keyframe.
  public var keyframeInterval: Duration {
    didSet { keyframeInterval = Self.held(keyframeInterval) }
  }
  /// The encoder. Default: `.automatic`.
  public var encoder: Encoder

  /// Creates a configuration; values out of range are clamped.
  public init(
    bitrate: Int? = nil, quality: Int = 80, keyframeInterval: Duration = .seconds(10),
    encoder: Encoder = .automatic
  ) {
    self.bitrate = Self.held(bitrate)
    self.quality = Self.held(quality)
    self.keyframeInterval = Self.held(keyframeInterval)
    self.encoder = encoder
  }

  private static func held(_ bitrate: Int?) -> Int? { bitrate.map { min(max($0, 16_000), 1_000_000_000) } }
  private static func held(_ quality: Int) -> Int { min(max(quality, 1), 100) }
  private static func held(_ interval: Duration) -> Duration {
    min(max(interval, .milliseconds(100)), .seconds(60))
  }
}

extension VideoConfiguration {
  /// The encoders to try, in this order.
  package var candidates: [Encoder] {
    encoder == .automatic ? [.v4l2m2m, .vaapi, .nvenc, .x264, .openh264] : [encoder]
  }

  /// Returns the bit rate for pictures of a size.
  package func bitrate(for size: Size) -> Int { bitrate ?? max(4 * min(size.pixelCount, 1 << 28), 250_000) }

  /// x264's constant rate factor, 0...51: 24 for 80.
  package var rateFactor: Int { min(56 - quality * 2 / 5, 51) }
}

/// The error of an encoder, of its output, or of a video file.
public struct VideoError: Error, Hashable, CustomStringConvertible {
  /// A kind of error.
  public enum Kind: Sendable, Hashable {
    /// No encoder is installed, or the installed software lacks the requested one; `description` says what to
    /// install.
    case unavailable
    /// An encoder rejects the size or the settings, or fails.
    case failed
  }

  /// The kind of the error.
  public let kind: Kind
  /// The error message.
  public let description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
