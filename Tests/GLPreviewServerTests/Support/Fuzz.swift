// Material of fuzzing: queries and JSON that are nearly right, and requests whose answers are seen as they came.
import AsyncHTTPClient
import FoundationEssentials
import GLPreview
import NIOCore
import Synchronization
import TestSupport

@testable import ServiceCore

/// Requests that are nearly right.
struct RequestFuzzer {
  var random: SeededGenerator

  static let paths = [
    "/cameras/camera/main.jpg", "/cameras/camera/main.png", "/cameras/camera/main.mjpeg",
    "/cameras/camera/other.jpg", "/cameras/camera/other.mjpeg", "/cameras/camera/locked.jpg",
    "/cameras/scene/main.jpg", "/cameras/scene/main.mjpeg", "/cameras/none/main.jpg", "/cameras/camera/main.",
    "/snapshot", "/stream", "/?action=snapshot", "/?action=stream_0", "/api/frame.jpeg?src=camera",
    "/api/stream.mjpeg?src=camera/other", "/api/stream?view=camera/main", "/api/stream?view=scene/main",
    "/api/events", "/api/cameras", "/api/cameras/camera", "/state", "/metrics", "/readyz", "/",
  ]

  private static let keys =
    SnapshotQuery.query.names + [
      "w", "h", "q", "fps", "key", "action", "src", "view", "types", "token", "from", "to", "every", "_", "",
      "x",
    ]

  private static let values = [
    "", "0", "-0", "1", "-1", "7", "64", "90", "180", "270", "-90", "360", "100", "101", "1e3", "1e309",
    "-1e309", "nan",
    "inf", "0x10", "1.5", "65535", "2147483648", "9223372036854775807", "-9223372036854775808",
    "99999999999999999999", "160x90", "64x", "x64", "0x0", "-1x-1", "99999x99999", "80x45+0+0",
    "80x45%2B10%2B10",
    "80x45-1-1", "1x1%2B159%2B89", "9223372036854775807x9223372036854775807%2B9223372036854775807%2B1",
    "true", "false", "null", "yes", "horizontal", "vertical", "both", "fit", "fill", "stretch", "inside",
    "nearest",
    "bilinear", "mitchell", "lanczos", "binary", "base64", "dataurl", "placeholder", "last", "error",
    "%23ff0000",
    "ff0000",
    "%00", "%", "%zz", "%ff%fe", "%F0%9F%98%80", "%D9%A3", "+", "%20", "..%2f..%2fetc%2fpasswd",
    "camera/main",
    "camera/none", "scene/main", "snapshot", "stream_9", "camera%0d%0aX-Bad:%201", "<script>", "'", "%22",
    "fisheye", "fisheye%20fov%20190", "fisheye%20radius%200", "pinhole%20fov%2060",
    "pinhole%20matrix%201,1,1,1%20size%201x1%20distortion%201e300", "ptlens%200,0,0", "flat", "cylinder",
    "equirectangular", "12.5", "-44.99", "45.01", "0,0%20150,0%20150,80%200,80", "0,0%201,1%202,2%203,3",
    "-999999,0%20999999,0%20999999,9%200,9", "10s", "1h", "-1d", "06:00%20to%20sunset",
  ]

  /// A path with a query.
  mutating func target() -> String {
    var target = random.oneOf(Self.paths)
    for _ in 0..<Int.random(in: 0...4, using: &random) {
      target += target.contains("?") ? "&" : "?"
      target += random.oneOf(Self.keys)
      if random.happens(0.95) { target += "=" }
      target += value()
    }
    return target
  }

  private mutating func value() -> String {
    if random.happens(0.03) {
      return String(repeating: "9", count: Int.random(in: 20...4000, using: &random))
    }
    if random.happens(0.2) { return "\(Int.random(in: -300...300, using: &random))" }
    var value = random.oneOf(Self.values)
    if random.happens(0.1) {
      value += "%" + Hexadecimal.text(of: CollectionOfOne(UInt8.random(in: 0...255, using: &random)))
    }
    return value
  }

  private static let members = [
    "crop", "rotate", "mirror", "size", "width", "height", "mode", "background", "filter", "linear", "fps",
    "enabled",
    "quality", "views", "max_bytes", "max_age", "timeout", "still", "settle", "offline", "name", "locked", "",
    "lens", "projection", "yaw", "pitch", "roll", "hfov", "corners", "positions", "position", "schedules",
    "every", "at", "between", "days", "to",
  ]
  private static let scalars = [
    "null", "true", "false", "0", "-1", "1", "90", "4.5", "60", "1e400", "-1e-400", "9223372036854775808",
    "NaN",
    #""""#, #""90""#, #""80x45+0+0""#, #""horizontal""#, #""main""#, #""\u0000""#, #""\ud800""#, #""last""#,
    #""64x36""#,
    #""fit""#, #""fisheye fov 190""#, #""pinhole fov 60""#, #""flat""#, #""cylinder""#, "12.5", "-44.99",
    "181",
    #""0,0 150,0 150,80 0,80""#, #""0,0 1,1 2,2 3,3""#, #"{"yaw":30,"hfov":60}"#, #"{"door":{"yaw":30}}"#,
    #""10s""#, #""06:00 to sunset""#, #"["12:00","sunrise+30m"]"#, "[]", "{}", #"["main","other"]"#,
    #"["none"]"#, "[[[[[[]]]]]]", #"{"a":{"b":1}}"#,
  ]

  /// The body of a change, or of a snapshot.
  mutating func body() -> [UInt8] {
    var members: [String] = []
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      members.append("\"\(random.oneOf(Self.members))\": \(random.oneOf(Self.scalars))")
    }
    var bytes = Array("{\(members.joined(separator: ", "))}".utf8)
    if random.happens(0.02) { bytes = Array(String(repeating: "[", count: 30_000).utf8) }
    guard random.happens(0.3) else { return bytes }
    for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
      let index = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes.remove(at: index)
      default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
      }
    }
    return bytes
  }
}

/// An answer as it came over a connection of its own.
struct RawAnswer: Sendable {
  let status: Int
  let fields: String

  struct NoAnswer: Error, CustomStringConvertible {
    let description: String
  }

  /// Asks; of an answer without an end the head is enough.
  static func to(_ request: [UInt8], of service: RunningService) async throws -> RawAnswer {
    let connection = try await RawConnection(to: service.port, sending: "")
    try await connection.send(request)
    do { try await connection.waits(for: "\r\n\r\n") } catch {
      throw NoAnswer(
        description: "'\(connection.received)' to \(String(decoding: request.prefix(300), as: UTF8.self))")
    }
    let text = connection.received
    let head = text.firstRange(of: "\r\n\r\n").map { text[..<$0.lowerBound] } ?? ""
    let fields = head.lowercased()
    if fields.contains("x-mixed-replace") || fields.contains("event-stream") {
      // Not before anything of it came: who goes at once is another thing than who goes while it is written.
      try? await connection.close()
    } else {
      try await connection.waitsForEnd()
    }
    return RawAnswer(
      status: head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0, fields: fields)
  }

  /// Whether a service may answer so, whatever it is asked: done, refused with a reason, or busy.
  var isInOrder: Bool {
    switch status {
    case 200..<300, 304: true
    case 400..<500, 503, 504: fields.contains("content-type: application/problem+json")
    default: false
    }
  }
}

/// Somebody who looks at a stream all the while.
final class Spectator: Sendable {
  private let count = Mutex(0)
  private let wrongParts = Mutex<[String]>([])
  private let task: Mutex<Task<Void, Never>?> = Mutex(nil)

  /// Looks at the stream `path`, whose pictures are all to be of `size`.
  init(of path: String, _ size: String, _ service: RunningService) async throws {
    let body = try await service.openStream(path)
    task.withLock { task in
      task = Task { [weak self] in
        var reader = PartReader()
        do {
          for try await chunk in body {
            for part in reader.read(Array(chunk.readableBytesView)) { self?.take(part, size) }
          }
        } catch {}
      }
    }
  }

  deinit { leave() }

  /// No picture was any other than it should be.
  var mistakes: [String] { wrongParts.withLock { $0 } }

  /// Returns when `more` pictures have come from now on.
  func sees(_ more: Int) async throws {
    let wanted = count.withLock { $0 } + more
    await until { count.withLock { $0 } >= wanted }
  }

  /// Looks no more.
  func leave() { task.withLock { $0 }?.cancel() }

  private func take(_ part: RunningService.Part, _ size: String) {
    count.withLock { $0 += 1 }
    if part.size != size { wrongParts.withLock { $0.append(part.size) } }
  }
}

/// How many connections to `port` of loopback this side still holds: those that are open, or that the other side has closed.
func serverSockets(on port: Int) -> Int {
  let table = FileManager.default.contents(atPath: "/proc/self/net/tcp") ?? Data()
  let digits = String(port, radix: 16, uppercase: true)
  let local = ":" + String(repeating: "0", count: 4 - digits.count) + digits
  return String(decoding: table, as: UTF8.self).split(separator: "\n").dropFirst().count { line in
    let fields = line.split(separator: " ")
    return fields.count > 3 && fields[1].hasSuffix(local) && (fields[3] == "01" || fields[3] == "08")
  }
}
