// File names of snapshots and recordings. They sort by time, and can't refer to files outside the folder.
internal import FoundationEssentials

/// `CAMERA/2026-11-21T20-15-30.123Z-VIEW.jpg`, or `.mp4`.
package struct StampedFileName: Sendable, Hashable, Comparable {
  /// The name of the subfolder.
  package let camera: String
  /// The file's name in the subfolder.
  package let file: String

  /// The kind of files in a folder.
  package enum Kind: String {
    case snapshot = ".jpg"
    case recording = ".mp4"
  }

  /// The length of a timestamp in a name, in bytes.
  private static let stampLength = 24

  package init(camera: String, view: String, time: WallTime, _ kind: Kind = .snapshot) {
    self.camera = Self.word(camera)
    file = "\(Self.stamp(time))-\(Self.word(view))\(kind.rawValue)"
  }

  package static func < (a: StampedFileName, b: StampedFileName) -> Bool {
    (a.file, a.camera) < (b.file, b.camera)
  }

  /// Parses the name of an existing file; nil if it does not have this form.
  package init?(camera: String, file: String, _ kind: Kind = .snapshot) {
    let stamp = Array(file.utf8.prefix(Self.stampLength))
    guard stamp.count == Self.stampLength, file.hasSuffix(kind.rawValue),
      zip(stamp, "0000-00-00T00-00-00.000Z".utf8).allSatisfy({ byte, sign in
        sign == UInt8(ascii: "0") ? (0x30...0x39).contains(byte) : byte == sign
      }), !file.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 < 0x20 })
    else { return nil }
    self.camera = camera
    self.file = file
  }

  /// The view's name, encoded as a path component.
  package var view: Substring { file.dropFirst(Self.stampLength + 1).dropLast(4) }

  /// The time; nil if the timestamp is not a valid date and time.
  package var time: WallTime? {
    var text = Array(stamp.utf8)
    for index in [13, 16] { text[index] = UInt8(ascii: ":") }
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    // An hour too many is one of the next day, which may be in a year that no name can have.
    guard let date = try? Date(String(decoding: text, as: UTF8.self), strategy: style),
      date.timeIntervalSince1970 < Self.endOfYears
    else { return nil }
    // Rounds to the millisecond, the precision of the name.
    return WallTime(sinceEpoch: .milliseconds(Int((date.timeIntervalSince1970 * 1000).rounded())))
  }

  /// The first second of the year 10000.
  private static let endOfYears = 253_402_300_800.0

  /// The time as text that sorts chronologically.
  package var stamp: Substring { file[..<file.utf8.index(file.startIndex, offsetBy: Self.stampLength)] }

  /// Formats `time` for a file name, without colons, which some file systems reject.
  package static func stamp(_ time: WallTime) -> String { time.description.replacing(":", with: "-") }

  /// Returns the name with a number appended, for a second file of the same name.
  func numbered(_ number: Int) -> String {
    number < 2 ? file : "\(file.dropLast(4))-\(number)\(file.suffix(4))"
  }

  /// Encodes `name` as a path component: letters, digits, `_`, `-` and inner dots are kept, other bytes
  /// become `%XX`.
  private static func word(_ name: String) -> String {
    var word: [UInt8] = []
    for byte in name.utf8.prefix(64) {
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
