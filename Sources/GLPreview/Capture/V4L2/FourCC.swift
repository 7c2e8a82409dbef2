// V4L2's format codes: four characters in one number.

/// A format's code: `YUYV`, `NV12`, `MJPG`.
struct FourCC: Sendable, Hashable, CustomStringConvertible {
  /// The first character is in the lowest byte; the highest bit marks big-endian samples.
  let code: UInt32

  private static let bigEndian: UInt32 = 1 << 31

  init(code: UInt32) { self.code = code }

  /// From one to four ASCII characters; missing ones are spaces.
  init(_ text: StaticString) {
    var code: UInt32 = 0x2020_2020
    text.withUTF8Buffer { characters in
      for unsafe(index, character) in unsafe characters.prefix(4).enumerated() {
        code &= ~(0xff << (8 * UInt32(index)))
        code |= UInt32(character) << (8 * UInt32(index))
      }
    }
    self.code = code
  }

  /// As v4l2-ctl writes it, without trailing spaces: `YUYV`, `Y16`, `Y16 -BE`.
  var description: String {
    let characters = (0..<4).map { index in
      let character = UInt8(truncatingIfNeeded: (code & ~Self.bigEndian) >> (8 * UInt32(index)))
      return (0x20..<0x7f).contains(character) ? character : UInt8(ascii: "?")
    }
    let text = String(decoding: characters, as: UTF8.self)
    guard code & Self.bigEndian == 0 else { return text + "-BE" }
    return String(text.reversed().drop { $0 == " " }.reversed())
  }
}
