// What a file of a snapshot is called: names sort by time, and none leads out of its folder.
internal import GLPreview

/// `CAMERA/2026-11-21T20-15-30.123Z-VIEW.jpg`.
struct SnapshotFileName: Sendable, Hashable {
  /// The folder within the folder.
  let camera: String
  /// The file within that.
  let file: String

  /// Bytes of a time in a name.
  private static let stampLength = 24

  init(camera: String, view: String, time: WallTime) {
    self.camera = Self.word(camera)
    file = "\(Self.stamp(time))-\(Self.word(view)).jpg"
  }

  /// A file that was found; nil where it is none of ours.
  init?(camera: String, file: String) {
    let stamp = Array(file.utf8.prefix(Self.stampLength))
    guard stamp.count == Self.stampLength, file.hasSuffix(".jpg"),
      zip(stamp, "0000-00-00T00-00-00.000Z".utf8).allSatisfy({ byte, sign in
        sign == UInt8(ascii: "0") ? (0x30...0x39).contains(byte) : byte == sign
      })
    else { return nil }
    self.camera = camera
    self.file = file
  }

  /// When it was: text that sorts as the times do.
  var stamp: Substring { file.prefix(Self.stampLength) }

  /// `time` as names have it: no colons, which some file systems do not take.
  static func stamp(_ time: WallTime) -> String { time.description.replacing(":", with: "-") }

  /// The same with a number behind it, for the second of that name.
  func numbered(_ number: Int) -> String { number < 2 ? file : "\(file.dropLast(4))-\(number).jpg" }

  /// `name` as a part of a path: letters, digits, `_`, `-` and inner dots as they are, else `%XX` for a byte.
  private static func word(_ name: String) -> String {
    var word: [UInt8] = []
    for byte in name.utf8.prefix(60) {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        word.append(byte)
      case UInt8(ascii: ".") where !word.isEmpty: word.append(byte)
      default: word += "%\(Hexadecimal.text(of: CollectionOfOne(byte)).uppercased())".utf8
      }
    }
    return word.isEmpty ? "_" : String(decoding: word, as: UTF8.self)
  }
}
