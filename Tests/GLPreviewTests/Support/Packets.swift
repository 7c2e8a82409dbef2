// Packets of H.264 for tests: made by hand, or by an encoder.
import PreviewCore

@testable import GLPreview

/// What a slice rests on.
enum SliceKind: UInt8 {
  case key, p, b

  /// The first macroblock is 0; the type is I, P or B in all of the picture (7.4.3, table 7-6).
  var header: [UInt8] {
    switch self {
    case .key: [0x65, 0b1000_1000]
    case .p: [0x41, 0b1001_1000]
    case .b: [0x01, 0b1001_1100]
    }
  }
}

/// 16x16, constrained baseline; the numbers of pictures may have gaps.
let smallSPS: [UInt8] = [0x67, 66, 0xc0, 30, 0xda, 0xf9]
let smallPPS: [UInt8] = [0x68, 1]

/// A picture that no decoder takes; the code stands behind its slice's header. A key picture has its parameter sets.
func packet(
  _ code: UInt8, _ kind: SliceKind = .p, sps: [UInt8] = smallSPS, pps: [UInt8] = smallPPS, more: [UInt8] = []
) -> [UInt8] {
  let sets = kind == .key ? [0, 0, 0, 1] + sps + [0, 0, 0, 1] + pps : []
  return sets + more + [0, 0, 1] + kind.header + [code, 0x80]
}

extension VideoSample {
  /// The code of `packet`.
  var packetCode: UInt8 { bytes[6] }
}

#if FFmpeg
  /// Whether the machine can encode H.264.
  let hasEncoder = (try? realPackets([10])) != nil

  /// Pictures of one grey each, the first a key picture, by a real encoder.
  func realPackets(_ codes: [UInt8], _ size: Size = Size(width: 64, height: 48)) throws -> [[UInt8]] {
    let settings = EncoderSettings(
      encoder: .x264, size: size, rateFactor: 20, bitrate: 1_000_000, keyframeInterval: 600)
    let encoder = try LibraryEncoder(settings)
    return try codes.enumerated().map { try encoder.encode(videoPicture($1, size), isKey: $0 == 0) }
  }
#endif
