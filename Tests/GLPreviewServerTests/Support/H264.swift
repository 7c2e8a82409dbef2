// Whether tests of video can run here.
import PreviewCore

@testable import GLPreview

/// Whether the machine can encode H.264.
let hasEncoder = installed != nil

/// The software that it has for that; tests that ask are disabled where there is none.
let software = installed ?? .x264

private let installed: VideoConfiguration.Encoder? = {
  #if FFmpeg
    return [.x264, .openh264].first { encoder in
      let settings = EncoderSettings(
        encoder: encoder, size: Size(width: 64, height: 64), rateFactor: 24, bitrate: 1_000_000,
        keyframeInterval: 600)
      return (try? LibraryEncoder(settings)) != nil
    }
  #else
    return nil
  #endif
}()
