// The camera of the kernel's `vivid` driver, by its own controls: what a test turns, breaks, unplugs and plugs in again.
import Foundation

/// A capture node of vivid's. A value: it holds no file open between calls.
struct Vivid: Sendable {
  /// Such as /dev/video0.
  let node: String

  /// What `inject` breaks, by the name of the control (Documentation/admin-guide/media/vivid.rst, "Error injection").
  enum Fault: String, CaseIterable {
    /// Every call fails with ENODEV, until the last who has the camera open closes it; then it is back.
    case disconnect
    /// The next buffer has V4L2_BUF_FLAG_ERROR.
    case damagedBuffer = "inject_v4l2_buf_flag_error"
    /// The next VIDIOC_REQBUFS or VIDIOC_CREATE_BUFS fails.
    case failingRequestOfBuffers = "inject_vidioc_reqbufs_error"
    /// The next VIDIOC_QBUF fails.
    case failingQueue = "inject_vidioc_qbuf_error"
    /// The next VIDIOC_STREAMON fails.
    case failingStart = "inject_vidioc_streamon_error"
    /// The stream ends: VIDIOC_DQBUF fails with EIO until it is started again.
    case fatalStreamError = "inject_fatal_streaming_error"
  }

  /// Turns a control, named as `v4l2-ctl -L` names it.
  func set(_ name: String, _ value: Int32) throws {
    try withDevice { device in
      let control = try device.control(name)
      try device.setControl(control.id, value)
    }
  }

  /// What a control is turned to.
  func value(_ name: String) throws -> Int32 {
    try withDevice { device in try device.valueOfControl(device.control(name).id) }
  }

  func inject(_ fault: Fault) throws { try set(fault.rawValue, 1) }

  /// All that a test may have turned is as it was when the machine started, but that there is no text over the picture.
  func reset() throws {
    try withDevice { device in
      for control in try device.controls where control.isAdjustable {
        try device.setControl(control.id, control.defaultValue)
      }
      try device.setControl(device.control("osd_text_mode").id, 2)
    }
  }

  /// What the format says of itself, as the driver reports it.
  func format() throws -> VideoFormat { try withDevice { try $0.format() } }

  /// Asks for a format, by its four letters, at the highest rate that there is for its size.
  ///
  /// - Returns: what the driver made of it.
  @discardableResult
  func setFormat(_ fourCC: String, width: Int, height: Int) throws -> VideoFormat {
    try withDevice { device in
      let format = try device.setFormat(fourCC, width: width, height: height)
      try device.setHighestRate()
      return format
    }
  }

  /// One frame as the driver gives it, by read(2): the bytes that any other way would have to give.
  func rawFrame() throws -> (format: VideoFormat, bytes: [UInt8]) {
    try withDevice { device in
      let format = try device.format()
      return (format, try device.read(format.imageSize))
    }
  }

  private func withDevice<Result>(_ body: (VideoDevice) throws -> Result) throws -> Result {
    try body(VideoDevice(node))
  }
}

extension Vivid {
  /// Those that are plugged in, in the order of their numbers.
  static var all: [Vivid] {
    get throws {
      let folder = URL(filePath: "/sys/class/video4linux")
      return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
        let label = try? String(
          contentsOf: folder.appending(path: name).appending(path: "name"), encoding: .utf8)
        return label?.hasPrefix("vivid-") == true && label?.hasSuffix("-vid-cap\n") == true
      }
      .sorted { $0.compare($1, options: .numeric) == .orderedAscending }.map { Vivid(node: "/dev/\($0)") }
    }
  }

  /// The camera, reset, and plugged in as it was first if a test has left it otherwise.
  static func camera() throws -> Vivid {
    if try all.map(\.node) != ["/dev/video0"] {
      if try !all.isEmpty { try unplug() }
      try plugIn()
    }
    guard let camera = try all.first else { throw NoCamera() }
    try camera.reset()
    return camera
  }

  /// Pulls out all cameras of the driver. Who has one open finds ENODEV.
  static func unplug() throws { try tell("unbind") }

  /// Plugs them in again; each takes the lowest number that is free, with everything as at the machine's start.
  static func plugIn() throws { try tell("bind") }

  /// Pulls the camera out and plugs it in again under another number: the old one stays taken as long as somebody has the
  /// gone camera open.
  ///
  /// - Returns: who has it open. When that has gone, `camera()` brings the old number back.
  static func replugUnderOtherNumber() throws -> VideoDevice {
    let holder = try VideoDevice(camera().node)
    try unplug()
    try plugIn()
    return holder
  }

  private static func tell(_ file: String) throws {
    let path = "/sys/bus/platform/drivers/vivid/\(file)"
    let device = unsafe open(path, O_WRONLY | O_CLOEXEC)
    guard device >= 0 else { throw DeviceFailed(call: path, code: errno) }
    defer { close(device) }
    let name = Array("vivid.0".utf8)
    guard unsafe write(device, name, name.count) == name.count else {
      throw DeviceFailed(call: path, code: errno)
    }
  }

  struct NoCamera: Error {}
}
