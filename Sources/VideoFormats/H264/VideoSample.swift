// An encoded picture, with everything that a decoder or a file needs to know about it.

/// The parameters of an H.264 stream. Our encoders write constrained baseline, with BT.601 in limited range;
/// a camera's own stream has the camera's parameters.
public struct H264Format: Sendable, Hashable {
  /// The sequence parameter set, a NAL unit without start code.
  public let sps: [UInt8]
  /// The picture parameter set.
  public let pps: [UInt8]
  /// The size of the picture. Coded sizes are even: for an odd side, the stream has one more column or row,
  /// which repeats the last one. MP4 files crop it.
  public let size: Size
  /// The encoder; nil for a camera's own stream, which is passed through unchanged.
  public let encoder: VideoConfiguration.Encoder?

  /// The codec string for browsers (RFC 6381): `avc1.42c01e`.
  public var codec: String {
    "avc1." + sps.dropFirst().prefix(3).map { UInt32($0).digits(2, radix: 16) }.joined()
  }

  /// The media type: `video/mp4; codecs="avc1.42c01e"`.
  public var mediaType: String { "video/mp4; codecs=\"\(codec)\"" }

  /// The size in the stream, whose sides are even.
  var codedSize: Size { size.even }

  package init(sps: [UInt8], pps: [UInt8], size: Size, encoder: VideoConfiguration.Encoder?) {
    (self.sps, self.pps, self.size, self.encoder) = (sps, pps, size, encoder)
  }
}

extension Size {
  /// The size with odd sides rounded up to even ones.
  package var even: Size { Size(width: (width + 1) / 2 * 2, height: (height + 1) / 2 * 2) }
}

/// An encoded picture.
public struct VideoSample: Sendable, Hashable {
  /// The slices, each preceded by its length in four bytes, as in MP4.
  public let bytes: [UInt8]
  /// Whether it is a keyframe, at which decoding can begin.
  public let isKey: Bool
  /// The capture time by `CaptureClock`; later than the previous sample's.
  public let timestamp: CaptureInstant
  /// The stream's parameters. If they differ from the previous sample's, a new stream begins with this
  /// sample, which is a keyframe.
  public let format: H264Format

  package init(bytes: [UInt8], isKey: Bool, timestamp: CaptureInstant, format: H264Format) {
    self.bytes = bytes
    self.isKey = isKey
    self.timestamp = timestamp
    self.format = format
  }

  /// Returns the sample at another time.
  package func at(_ time: CaptureInstant) -> VideoSample {
    VideoSample(bytes: bytes, isKey: isKey, timestamp: time, format: format)
  }

  /// Returns the sample at its own time, but at least a millisecond after `time`.
  package func later(than time: CaptureInstant) -> VideoSample {
    at(max(timestamp, time + .milliseconds(1)))
  }

  /// The sample as a byte stream (H.264, Annex B). The parameter sets precede a keyframe.
  public var annexB: [UInt8] {
    var stream: [UInt8] = []
    stream.reserveCapacity(bytes.count + 64)
    if isKey { for unit in [format.sps, format.pps] { stream += H264Stream.startCode + unit } }
    var offset = 0
    while offset + 4 <= bytes.count {
      let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      stream += H264Stream.startCode
      stream += bytes[(offset + 4)...].prefix(length)
      offset += 4 + length
    }
    return stream
  }
}
