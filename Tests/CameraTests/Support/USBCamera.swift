// A USB camera that the kernel's uvcvideo drives, and that is a program of ours: Tests/CameraVM/usb-camera.
import Foundation
import TestSupport

/// A camera with one size and rate, whose MJPEG frames are the bytes that it is given, in turn. It is plugged in as soon as
/// it is made, and pulled out when it goes.
final class USBCamera {
  /// What it can be told, in the program's words.
  enum Order: String {
    case unplug, plug
    /// No more frames; frames again.
    case stall, go
    /// Only the first half of the next frame's bytes.
    case short
    /// The next frame is marked as damaged, of which uvcvideo hands on nothing.
    case damage
    /// From the next `plug` on it is at another port, as after a change of the cable's place; the serial number stays.
    case otherPort = "port 1"
  }

  private let process = Process()
  private let orders = Pipe()
  private let answers = Pipe()
  private var heard: [UInt8] = []

  init(_ pictures: [URL], width: Int, height: Int, framesPerSecond: Int) throws {
    for module in ["uvcvideo", "vhci_hcd"] { try runProgram("modprobe", module) }
    process.executableURL = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "CameraVM/usb-camera")
    process.arguments = ["\(width)x\(height)", "\(framesPerSecond)"] + pictures.map(\.path)
    process.standardInput = orders
    process.standardOutput = answers
    try process.run()
    try waitForAnswer("plugged")
  }

  deinit {
    try? orders.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// Returns when it is done; the kernel finds a camera that was plugged in a moment later.
  func tell(_ order: Order) throws {
    try orders.fileHandleForWriting.write(contentsOf: Data("\(order.rawValue)\n".utf8))
    try waitForAnswer(order.rawValue)
  }

  /// Its capture node, where the kernel has found it.
  var node: String? {
    let folder = URL(filePath: "/sys/class/video4linux")
    let nodes = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return nodes.first { node in
      let fact = { (name: String) in
        try? String(contentsOf: folder.appending(path: node).appending(path: name), encoding: .utf8)
      }
      // The second one gives its metadata.
      return fact("name")?.hasPrefix("Program camera") == true && fact("index") == "0\n"
    }.map { "/dev/\($0)" }
  }

  /// The node, when the kernel has found it.
  func waitForNode() async throws -> String {
    var found: String?
    await until {
      found = node.flatMap { FileManager.default.fileExists(atPath: $0) ? $0 : nil }
      return found != nil
    }
    guard let found else { throw CancellationError() }
    return found
  }

  private func waitForAnswer(_ line: String) throws {
    while true {
      if let end = heard.firstIndex(of: UInt8(ascii: "\n")) {
        let answer = String(decoding: heard[..<end], as: UTF8.self)
        heard.removeFirst(end + 1)
        guard answer == line else { throw UnexpectedAnswer(answer: answer) }
        return
      }
      let part = answers.fileHandleForReading.availableData
      guard !part.isEmpty else { throw UnexpectedAnswer(answer: "its end") }
      heard += part
    }
  }

  struct UnexpectedAnswer: Error {
    let answer: String
  }
}
