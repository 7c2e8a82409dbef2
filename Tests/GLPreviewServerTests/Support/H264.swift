// Whether tests of video can run here.
import PreviewCore

@testable import GLPreview

/// Whether the machine can encode H.264.
let hasEncoder: Bool = {
  #if FFmpeg
    return [VideoConfiguration.Encoder.x264, .openh264].contains { encoder in
      let settings = EncoderSettings(
        encoder: encoder, size: Size(width: 64, height: 64), rateFactor: 24, bitrate: 1_000_000,
        keyframeInterval: 600)
      return (try? LibraryEncoder(settings)) != nil
    }
  #else
    return false
  #endif
}()
