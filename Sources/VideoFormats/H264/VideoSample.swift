// An encoded picture, with all that a decoder or a file wants to know of it.

/// The parameters of an H.264 stream. Of our encoders it is constrained baseline, BT.601 in limited range; of a camera it is
/// what the camera says.
public struct H264Format: Sendable, Hashable {
  /// The sequence parameter set, a NAL unit without start code.
  public let sps: [UInt8]
  /// The picture parameter set.
  public let pps: [UInt8]
  /// The size of the picture. H.264 has only even ones of it: an odd side has one more column or row in the stream,
  /// which repeats the last; MP4 files say so.
  public let size: Size
  /// The encoder; nil for a camera's own stream, which is passed on unchanged.
  public let encoder: VideoConfiguration.Encoder?

  /// The codec as browsers call it (RFC 6381): `avc1.42c01e`.
  public var codec: String {
    "avc1." + sps.dropFirst().prefix(3).map { UInt32($0).digits(2, radix: 16) }.joined()
  }

  /// `video/mp4; codecs="avc1.42c01e"`.
  public var mediaType: String { "video/mp4; codecs=\"\(codec)\"" }

  /// The size in the stream.
  var codedSize: Size { size.even }

  package init(sps: [UInt8], pps: [UInt8], size: Size, encoder: VideoConfiguration.Encoder?) {
    (self.sps, self.pps, self.size, self.encoder) = (sps, pps, size, encoder)
  }
}

extension Size {
  /// With odd sides one larger.
  package var even: Size { Size(width: (width + 1) / 2 * 2, height: (height + 1) / 2 * 2) }
}

/// An encoded picture.
public struct VideoSample: Sendable, Hashable {
  /// Its slices, each behind its length in four bytes, as MP4 has them.
  public let bytes: [UInt8]
  /// Whether decoding can begin with it.
  public let isKey: Bool
  /// When it was captured, by `CaptureClock`; later than the sample before.
  public let timestamp: CaptureInstant
  /// The stream's parameters. Where they differ from those of the sample before, a new stream begins, with a key
  /// picture.
  public let format: H264Format

  package init(bytes: [UInt8], isKey: Bool, timestamp: CaptureInstant, format: H264Format) {
    self.bytes = bytes
    self.isKey = isKey
    self.timestamp = timestamp
    self.format = format
  }

  /// The same sample at another time.
  package func at(_ time: CaptureInstant) -> VideoSample {
    VideoSample(bytes: bytes, isKey: isKey, timestamp: time, format: format)
  }

  /// The same, at the earliest a millisecond after `time`.
  package func later(than time: CaptureInstant) -> VideoSample {
    at(max(timestamp, time + .milliseconds(1)))
  }

  /// The same as a byte stream (H.264's Annex B), with the parameter sets before a key picture.
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
