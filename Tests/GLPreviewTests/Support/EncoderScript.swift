// Encoders that do as a test says, and tell what was asked of them.
import PreviewCore
import Synchronization
import TestSupport

@testable import GLPreview

/// Who can be opened, and what comes of it.
final class EncoderScript: Sendable {
  enum Act: Sendable {
    /// It can't be opened.
    case refusal(VideoError)
    /// Encodes so many pictures, then fails at each.
    case pictures(Int)
    /// Takes so many pictures before it gives the first.
    case delay(Int)
    /// Blocks at its first picture.
    case hang
    /// Never gives a key picture but the first.
    case deaf
  }

  struct Call: Sendable, Hashable {
    let encoder: VideoConfiguration.Encoder
    let size: Size
    let isKey: Bool
  }

  private let acts: [VideoConfiguration.Encoder: Act]
  private let state = Mutex(State())

  private struct State {
    var opens: [EncoderSettings] = []
    var closes = 0
    var calls: [Call] = []
    var bitrates: [Int] = []
    var isReleased = false
  }

  /// Those that are not named encode whatever comes.
  init(_ acts: [VideoConfiguration.Encoder: Act] = [:]) { self.acts = acts }

  var opens: [EncoderSettings] { state.withLock { $0.opens } }
  var closes: Int { state.withLock { $0.closes } }
  var calls: [Call] { state.withLock { $0.calls } }
  var bitrates: [Int] { state.withLock { $0.bitrates } }

  /// Ends what hangs.
  func release() { state.withLock { $0.isReleased = true } }

  func encoder(
    _ configuration: VideoConfiguration = VideoConfiguration(), within budget: MemoryBudget? = nil,
    stallsAfter: Duration = allTheTimeThereIs
  ) -> VideoEncoder {
    VideoEncoder(
      configuration, within: budget,
      open: { (settings) throws(VideoError) in
        if case .refusal(let error) = self.acts[settings.encoder] { throw error }
        self.state.withLock { $0.opens.append(settings) }
        return Encoder(self, settings)
      }, stallsAfter: stallsAfter)
  }

  private final class Encoder: H264Encoder {
    private let script: EncoderScript
    private let settings: EncoderSettings
    private var count = 0
    /// Whether one of the pictures that it keeps is to be a key picture.
    private var isKeyWanted = true

    init(_ script: EncoderScript, _ settings: EncoderSettings) {
      self.script = script
      self.settings = settings
    }

    deinit { script.state.withLock { $0.closes += 1 } }

    func setBitrate(_ bitrate: Int) { script.state.withLock { $0.bitrates.append(bitrate) } }

    /// The size is in the parameter sets; a slice has the code of the picture's first pixel.
    func encode(_ picture: Picture, isKey: Bool) throws(VideoError) -> [UInt8] {
      script.state.withLock {
        $0.calls.append(Call(encoder: settings.encoder, size: picture.size, isKey: isKey))
      }
      count += 1
      if case .deaf? = script.acts[settings.encoder] {} else { isKeyWanted = isKeyWanted || isKey }
      switch script.acts[settings.encoder] {
      case .pictures(let limit) where count > limit: throw VideoError(.failed, "\(settings.encoder) broke")
      case .delay(let delay) where count <= delay: return []
      case .hang: while script.state.withLock({ !$0.isReleased }) {}
      default: break
      }
      let code = picture.bytes[0]
      let isKey = isKeyWanted
      isKeyWanted = false
      let sets: [UInt8] = [0, 0, 1, 0x67, 66, 0xc0, UInt8(picture.size.width), 0, 0, 1, 0x68, 1]
      return (isKey ? sets + [0, 0, 1, 0x65] : [0, 0, 1, 0x41]) + [code, 0x80]
    }
  }
}

extension VideoSample {
  /// The code of the picture's first pixel, of a scripted encoder.
  var code: UInt8 { bytes[5] }
}

/// A picture of one grey, as video encoders take it.
func videoPicture(_ code: UInt8, _ size: Size = Size(width: 8, height: 6)) -> Picture {
  let planes = Picture.Format.video.planeSizes(of: size)
  let bytes = zip(planes, [code, 128, 128]).flatMap { [UInt8](repeating: $1, count: $0.pixelCount) }
  return Picture(tight: size, format: .video, bytes: bytes)
}
