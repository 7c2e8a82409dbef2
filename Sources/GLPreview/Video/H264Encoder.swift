// One open encoder of a library.
internal import Glibc

/// The settings that an encoder is opened with.
struct EncoderSettings: Sendable, Hashable {
  /// Not `.automatic`.
  let encoder: VideoConfiguration.Encoder
  /// The size in the stream: both sides are even.
  let size: Size
  /// x264's constant rate factor, 0...51.
  let rateFactor: Int
  /// Bits per second, if pictures come at `nominalRate`.
  let bitrate: Int
  /// The most pictures between two keyframes. Keyframes are requested by time; this only limits encoders that
  /// ignore requests.
  let keyframeInterval: Int

  /// The pictures per second that encoders are configured with.
  static let nominalRate = 30

  /// The threads of a software encoder, one slice each: more than one only for sizes at which one may be too
  /// slow. More threads than cores only take memory.
  var threads: Int { size.pixelCount > 1920 * 1088 ? min(Self.cores, 4) : 1 }

  private static let cores = max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)

  /// The memory of an open encoder, in bytes: the maximum that was measured with noise at 0.1 to 35
  /// megapixels, with x264 0.164 and OpenH264 2.3. For hardware, only the memory of the process: some
  /// pictures in flight.
  var byteCount: Int {
    let pixels = size.pixelCount
    return switch encoder {
    case .x264, .automatic: min(26 * pixels + (1 << 20), 15 * pixels + (24 << 20))
    case .openh264: 16 * pixels + (1 << 20)
    case .v4l2m2m, .vaapi, .nvenc: 6 * pixels + (1 << 20)
    }
  }
}

/// An encoder for pictures of one size. Its calls block, and come from one caller at a time.
protocol H264Encoder: AnyObject {
  /// Encodes a picture of `Picture.Format.video`: constrained baseline, one picture out for one in.
  ///
  /// - Returns: Annex B, with the parameter sets before a keyframe; nothing if the encoder holds the picture
  ///   back.
  func encode(_ picture: Picture, isKey: Bool) throws(VideoError) -> [UInt8]

  /// Sets the bit rate from the next picture on, where the encoder can change it.
  func setBitrate(_ bitrate: Int)
}

/// Opens an encoder.
typealias EncoderOpener = @Sendable (EncoderSettings) throws(VideoError) -> any H264Encoder

#if FFmpeg
  internal import CAV

  /// An encoder of FFmpeg's libraries, or OpenH264. Both are loaded with the first encoder.
  @safe final class LibraryEncoder: H264Encoder {
    private let handle: OpaquePointer
    private let name: String

    init(_ settings: EncoderSettings) throws(VideoError) {
      let name = settings.encoder.libraryName
      var error = glp_av_error()
      let opened = unsafe name.withCString { name in
        var encoding = unsafe glp_av_encoding()
        unsafe encoding.encoder = name
        unsafe encoding.width = CInt(settings.size.width)
        unsafe encoding.height = CInt(settings.size.height)
        unsafe encoding.quality = CInt(settings.rateFactor)
        unsafe encoding.bitrate = Int64(settings.bitrate)
        unsafe encoding.rate = CInt(EncoderSettings.nominalRate)
        unsafe encoding.keyframe_interval = CInt(settings.keyframeInterval)
        unsafe encoding.threads = CInt(settings.threads)
        return unsafe glp_av_encoder_open(&encoding, &error)
      }
      guard let handle = unsafe opened else { throw VideoError(error, name) }
      unsafe self.handle = unsafe handle
      self.name = name
    }

    deinit { unsafe glp_av_encoder_close(handle) }

    func encode(_ picture: Picture, isKey: Bool) throws(VideoError) -> [UInt8] {
      guard picture.format == .video else {
        throw VideoError(.failed, "a video is made of \(Picture.Format.video), not of \(picture.format)")
      }
      var error = glp_av_error()
      let encoded: [UInt8]? = unsafe picture.bytes.withUnsafeBufferPointer { samples in
        var source = glp_av_planes()
        let starts = unsafe picture.planes.map { plane in
          unsafe samples.baseAddress.map { unsafe $0 + plane.offset }
        }
        unsafe source.planes = unsafe (starts[0], starts[1], starts[2])
        let strides = picture.planes.map(\.bytesPerRow)
        source.strides = (strides[0], strides[1], strides[2])
        source.width = CInt(picture.size.width)
        source.height = CInt(picture.size.height)
        var bytes: UnsafePointer<UInt8>?
        var count = 0
        guard unsafe glp_av_encode(handle, &source, isKey, &bytes, &count, &error) else { return nil }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
      }
      guard let encoded else { throw VideoError(error, name) }
      return encoded
    }

    func setBitrate(_ bitrate: Int) { unsafe glp_av_encoder_set_bitrate(handle, Int64(bitrate)) }
  }

  extension VideoConfiguration.Encoder {
    fileprivate var libraryName: String {
      switch self {
      case .v4l2m2m: "h264_v4l2m2m"
      case .vaapi: "h264_vaapi"
      case .nvenc: "h264_nvenc"
      case .x264, .automatic: "libx264"
      case .openh264: "libopenh264"
      }
    }
  }

  extension VideoError {
    fileprivate init(_ error: glp_av_error, _ name: String) {
      let words = String(tuple: error.text)
      self =
        switch error.status {
        case GLP_AV_NO_LIBRARIES: VideoError(.unavailable, words)
        case GLP_AV_NO_ENCODER: VideoError(.unavailable, "FFmpeg's libraries were built without \(name)")
        case GLP_AV_NO_MEMORY: VideoError(.failed, "\(name): not enough memory")
        default: VideoError(.failed, "\(name): \(words)")
        }
    }
  }

  let openEncoder: EncoderOpener = { (settings) throws(VideoError) in try LibraryEncoder(settings) }
#else
  let openEncoder: EncoderOpener = { (_) throws(VideoError) in
    throw VideoError(.unavailable, "built without encoders (the package's trait FFmpeg)")
  }
#endif
