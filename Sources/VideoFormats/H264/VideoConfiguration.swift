// How pictures become H.264: quality, the bit rate that caps it, key pictures, and who encodes.

/// How a preview is encoded as H.264. Watchers of a preview with equal configurations share one encoder.
public struct VideoConfiguration: Sendable, Hashable {
  /// Who encodes.
  public enum Encoder: String, Sendable, Hashable, CaseIterable {
    /// The first of those below that encodes a picture: hardware before software.
    case automatic = "auto"
    /// Encoders of boards, as of the Raspberry Pi up to 4 (V4L2).
    case v4l2m2m
    /// Intel's and AMD's graphics (VA-API).
    case vaapi
    /// Nvidia's graphics.
    case nvenc
    /// Software, as FFmpeg has it; GPL.
    case x264
    /// Cisco's software, a library of its own; BSD.
    case openh264
  }

  /// The most bits a second, over half a second, 16,000...1,000,000,000; nil, the default, allows four for each pixel
  /// of the picture, and at least 250,000: 0.9 Mbit/s for 640x360, 3.7 Mbit/s for 1280x720.
  public var bitrate: Int? {
    didSet { bitrate = Self.held(bitrate) }
  }
  /// 1...100, where 80, the default, looks as a JPEG of that quality does, or better. The bit rate caps it.
  public var quality: Int {
    didSet { quality = Self.held(quality) }
  }
  /// The longest time between two key pictures, 0.1...60 seconds; 10 seconds by default. Watchers who join get one of
  /// their own.
  public var keyframeInterval: Duration {
    didSet { keyframeInterval = Self.held(keyframeInterval) }
  }
  /// Who encodes. Default: `.automatic`.
  public var encoder: Encoder

  /// Creates a configuration; values out of range are moved to its end.
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
  /// Those who are tried, in this order.
  package var candidates: [Encoder] {
    encoder == .automatic ? [.v4l2m2m, .vaapi, .nvenc, .x264, .openh264] : [encoder]
  }

  /// The bit rate for pictures of a size.
  package func bitrate(for size: Size) -> Int { bitrate ?? max(4 * min(size.pixelCount, 1 << 28), 250_000) }

  /// x264's constant rate factor, 0...51: 24 for 80.
  package var rateFactor: Int { min(56 - quality * 2 / 5, 51) }
}

/// The error of an encoder, of its output or of a file of it.
public struct VideoError: Error, Hashable, CustomStringConvertible {
  /// What kind of error it is.
  public enum Kind: Sendable, Hashable {
    /// No encoder is installed, or what is installed lacks it; `description` says what to install.
    case unavailable
    /// An encoder refuses the size or the settings, or fails.
    case failed
  }

  /// What kind of error it is.
  public let kind: Kind
  /// What went wrong.
  public let description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
