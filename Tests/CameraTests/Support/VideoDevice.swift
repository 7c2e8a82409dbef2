// V4L2's calls that the tests make themselves, so that what they know of a camera does not come from what they test.
import Foundation

/// What VIDIOC_G_FMT tells of a single-planar format (struct v4l2_pix_format), in the kernel's numbers.
struct VideoFormat: Equatable, Sendable {
  let width: Int
  let height: Int
  let fourCC: String
  let bytesPerRow: Int
  let imageSize: Int
  /// enum v4l2_colorspace.
  let colorspace: UInt32
  /// enum v4l2_ycbcr_encoding; 0 where it follows from the colour space.
  let encoding: UInt32
  /// enum v4l2_quantization; 0 where it follows from the rest.
  let quantization: UInt32
  /// enum v4l2_xfer_func; 0 where it follows from the colour space.
  let transfer: UInt32
}

/// An open device.
final class VideoDevice {
  /// A control that has a number for its value (struct v4l2_queryctrl).
  struct Control {
    let id: UInt32
    let kind: UInt32
    let name: String
    let defaultValue: Int32
    let flags: UInt32

    /// Whether it can be turned and stays so: no button (4), no title (6), not disabled, read-only, inactive or volatile.
    var isAdjustable: Bool { [1, 2, 3, 8, 9].contains(kind) && flags & (0x01 | 0x04 | 0x10 | 0x80) == 0 }
  }

  private let file: CInt

  init(_ path: String) throws {
    file = unsafe open(path, O_RDWR | O_CLOEXEC)
    guard file >= 0 else { throw DeviceFailed(call: "opening \(path)", code: errno) }
  }

  deinit { close(file) }

  /// Those with a number; the names are v4l2-ctl's: lower case, and what is no letter or digit is one underscore.
  var controls: [Control] {
    get throws {
      var found: [Control] = []
      var record = Record(size: 68)
      // V4L2_CTRL_FLAG_NEXT_CTRL: the next one behind this number.
      record[0] = 0x8000_0000
      while try call(.queryControl, &record, orEnd: EINVAL) {
        let words = record.text(at: 8, count: 32).lowercased().split { !$0.isLetter && !$0.isNumber }
        found.append(
          Control(
            id: record[0], kind: record[4], name: words.joined(separator: "_"),
            defaultValue: Int32(bitPattern: record[52]), flags: record[56]))
        record[0] |= 0x8000_0000
      }
      return found
    }
  }

  func control(_ name: String) throws -> Control {
    guard let control = try controls.first(where: { $0.name == name }) else {
      throw DeviceFailed(call: "looking for the control \(name)", code: ENOENT)
    }
    return control
  }

  func setControl(_ id: UInt32, _ value: Int32) throws {
    var record = Record(size: 8)
    (record[0], record[4]) = (id, UInt32(bitPattern: value))
    try call(.setControl, &record)
  }

  func valueOfControl(_ id: UInt32) throws -> Int32 {
    var record = Record(size: 8)
    record[0] = id
    try call(.getControl, &record)
    return Int32(bitPattern: record[4])
  }

  func format() throws -> VideoFormat {
    var record = Record(size: 208)
    record[0] = 1
    try call(.getFormat, &record)
    return VideoFormat(record)
  }

  func setFormat(_ fourCC: String, width: Int, height: Int) throws -> VideoFormat {
    var record = Record(size: 208)
    record[0] = 1
    (record[8], record[12], record[24]) = (UInt32(width), UInt32(height), 0)
    record[16] = fourCC.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    try call(.setFormat, &record)
    return VideoFormat(record)
  }

  /// A thousand frames a second, of which the driver makes the most that it has.
  func setHighestRate() throws {
    var record = Record(size: 204)
    record[0] = 1
    (record[12], record[16]) = (1, 1000)
    try call(.setParameters, &record)
  }

  /// A frame, by read(2).
  func read(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let length = unsafe Glibc.read(file, &bytes, count)
    guard length == count else { throw DeviceFailed(call: "reading a frame", code: length < 0 ? errno : EIO) }
    return bytes
  }

  /// _IOC of linux/videodev2.h, on machines with the layout of asm-generic/ioctl.h.
  private enum Call: UInt {
    case getFormat = 0xC0D0_5604
    case setFormat = 0xC0D0_5605
    case setParameters = 0xC0CC_5616
    case getControl = 0xC008_561B
    case setControl = 0xC008_561C
    case queryControl = 0xC044_5624
  }

  private func call(_ call: Call, _ record: inout Record) throws {
    _ = try self.call(call, &record, orEnd: nil)
  }

  /// False where the error is the one that ends a list.
  private func call(_ call: Call, _ record: inout Record, orEnd end: CInt?) throws -> Bool {
    let result = unsafe record.bytes.withUnsafeMutableBytes { bytes in
      unsafe bytes.baseAddress.map { unsafe ioctl(file, call.rawValue, $0) } ?? -1
    }
    if result == 0 { return true }
    guard errno == end else { throw DeviceFailed(call: "VIDIOC (\(call))", code: errno) }
    return false
  }
}

/// A call failed.
struct DeviceFailed: Error, CustomStringConvertible {
  let call: String
  /// `errno`.
  let code: Int32
  var description: String { unsafe "\(call): \(String(cString: strerror(code)))" }
}

/// A struct of the kernel's as bytes, and its 32-bit members by their offsets.
private struct Record {
  var bytes: [UInt8]

  init(size: Int) { bytes = [UInt8](repeating: 0, count: size) }

  subscript(offset: Int) -> UInt32 {
    get { (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << (8 * UInt32($1)) } }
    set {
      for index in 0..<4 {
        bytes[offset + index] = UInt8(truncatingIfNeeded: newValue >> (8 * UInt32(index)))
      }
    }
  }

  func text(at offset: Int, count: Int) -> String {
    String(decoding: bytes[offset..<offset + count].prefix { $0 != 0 }, as: UTF8.self)
  }
}

extension VideoFormat {
  /// From struct v4l2_format, whose union begins at 8.
  fileprivate init(_ record: Record) {
    self.init(
      width: Int(record[8]), height: Int(record[12]), fourCC: record.text(at: 16, count: 4),
      bytesPerRow: Int(record[24]), imageSize: Int(record[28]), colorspace: record[32],
      encoding: record[44], quantization: record[48], transfer: record[52])
  }
}
