// Pictures on disk: the golden ones beside the tests, and what is left behind when a test fails.
import Foundation
import GLPreview
import Testing

enum GoldenFiles {
  /// The package's folder; `GLPREVIEW_ROOT` where it is not the one that was built in.
  private static let root =
    ProcessInfo.processInfo.environment["GLPREVIEW_ROOT"].map { URL(filePath: $0) }
    ?? URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  static let folder = root.appending(path: "Tests/ConformanceTests/Golden")

  /// Where failures are left: `.build/golden-failures` of the package.
  static let failures = root.appending(path: ".build/golden-failures")

  /// The picture that is kept under a name; nil where there is none.
  static func picture(_ name: String) throws -> Picture? {
    let file = folder.appending(path: "\(name).png")
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    let frame = try PNGDecoder.decode(Array(try Data(contentsOf: file)), maximumPixels: 1_000_000)
    let samples = try #require(frame.format.pixelFormat == .rgb24 ? frame.bytes : nil)
    let rgba = stride(from: 0, to: samples.count, by: 3).flatMap { samples[$0..<$0 + 3] + [255] }
    return Picture(tight: frame.format.size, format: .rgba, bytes: rgba)
  }

  static func record(_ picture: Picture, as name: String) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(PNGEncoder(compressionLevel: 9).encode(picture)).write(to: folder.appending(path: "\(name).png"))
  }

  /// Leaves expected, actual and difference as PNGs, and says where.
  static func leave(_ name: String, expected: Picture, actual: Picture) throws -> String {
    let folder = failures.appending(path: name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (kind, picture) in [
      ("expected", expected), ("actual", actual), ("difference", difference(expected, actual)),
    ] {
      let bytes = try PNGEncoder().encode(picture.flattened)
      try Data(bytes).write(to: folder.appending(path: "\(kind).png"))
      Attachment.record(bytes, named: "\(name)-\(kind).png")
    }
    return folder.path
  }

  /// Red where the pictures differ, the brighter the more; all red where they can't be compared.
  private static func difference(_ expected: Picture, _ actual: Picture) -> Picture {
    let (one, other) = (expected.flattened, actual.flattened)
    guard one.size == other.size else {
      let red = [UInt8](repeating: 255, count: one.size.pixelCount * 4)
      return Picture(tight: one.size, format: .rgba, bytes: red)
    }
    let bytes = stride(from: 0, to: one.bytes.count, by: 4).flatMap { pixel -> [UInt8] in
      let worst = (0..<4).map { abs(Int(one.bytes[pixel + $0]) - Int(other.bytes[pixel + $0])) }.max() ?? 0
      return [worst == 0 ? 0 : UInt8(min(255, 60 + worst * 4)), 0, 0, 255]
    }
    return Picture(tight: one.size, format: .rgba, bytes: bytes)
  }
}

extension Picture {
  /// R, G, B, A without padding; planes of Y'CbCr as grey pictures one below the other.
  var flattened: Picture {
    let pixels = planes.flatMap { plane -> [UInt8] in
      (0..<plane.size.height).flatMap { y -> [UInt8] in
        let start = plane.offset + y * plane.bytesPerRow
        let row = bytes[start..<start + plane.size.width * format.bytesPerSample]
        guard format != .rgba else { return Array(row) }
        let padding = [UInt8](repeating: 128, count: size.width - plane.size.width)
        return (row + padding).flatMap { [$0, $0, $0, 255] }
      }
    }
    let height = planes.reduce(0) { $0 + $1.size.height }
    return Picture(tight: Size(width: size.width, height: height), format: .rgba, bytes: pixels)
  }
}
