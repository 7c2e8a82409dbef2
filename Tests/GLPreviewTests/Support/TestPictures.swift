// What the tests of codecs and sources share: fixtures, pictures to encode, EXIF and ICC to put into them, and
// one pixel of a frame as R'G'B'.
import Foundation
import PreviewCore
import Testing

@testable import GLPreview

/// The bytes of a file of Fixtures.
func fixture(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: fixtureFile(name))) }

/// A file of Fixtures. `GLPREVIEW_ROOT` is the package's folder where it is not the one that was built in.
func fixtureFile(_ name: String) -> URL {
  let root =
    ProcessInfo.processInfo.environment["GLPREVIEW_ROOT"].map { URL(filePath: $0) }
    ?? URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  return root.appending(path: "Tests/GLPreviewTests/Fixtures").appending(path: name)
}

/// A pixel of `frame`, unscaled chroma, as JFIF's R'G'B' (T.871, 7).
func rgb(_ frame: Frame, _ x: Int, _ y: Int) -> [Int] {
  func code(_ component: Component) -> Int {
    let description = frame.format.pixelFormat.planes[component.plane]
    let texel = x / component.subsampling.x * component.texelStep + component.texelOffset
    let plane = frame.planes[component.plane]
    let index =
      plane.offset + y / component.subsampling.y * plane.bytesPerRow + texel * description.texel.byteCount
      + component.channel * description.texel.bytesPerChannel
    return Int(frame.bytes[index])
  }
  switch frame.format.pixelFormat.model {
  case .luma(let luma): return [code(luma), code(luma), code(luma)]
  case .rgb(let red, let green, let blue, _): return [code(red), code(green), code(blue)]
  case .ycbcr(let luma, let cb, let cr):
    let (y, b, r) = (Double(code(luma)), Double(code(cb) - 128), Double(code(cr) - 128))
    return [y + 1.402 * r, y - 0.344136 * b - 0.714136 * r, y + 1.772 * b].map {
      Int(min(max($0, 0), 255).rounded())
    }
  }
}

func isNear(_ one: [Int], _ other: [Int], within tolerance: Int) -> Bool {
  one.count == other.count && zip(one, other).allSatisfy { abs($0 - $1) <= tolerance }
}

/// A picture of smooth ramps: Y' rises to the right, Cb downwards, Cr falls to the right.
func ramps(_ size: Size, _ chroma: Picture.ChromaSubsampling, padding: Int = 0) -> Picture {
  var bytes: [UInt8] = []
  var planes: [Picture.Plane] = []
  for (index, plane) in Picture.Format.ycbcr(chroma).planeSizes(of: size).enumerated() {
    planes.append(Picture.Plane(size: plane, offset: bytes.count, bytesPerRow: plane.width + padding))
    for y in 0..<plane.height {
      for x in 0..<plane.width {
        let right = 255 * x / max(plane.width - 1, 1), down = 255 * y / max(plane.height - 1, 1)
        bytes.append(UInt8([right, 64 + down / 2, 192 - right / 2][index]))
      }
      bytes += [UInt8](repeating: 0xEE, count: padding)
    }
  }
  return Picture(size: size, format: .ycbcr(chroma), planes: planes, bytes: bytes)
}

/// A small JPEG of our own.
func smallJPEG(_ size: Size = Size(width: 24, height: 16), iccProfile: [UInt8]? = nil) throws -> [UInt8] {
  try JPEGEncoder(quality: 90).encode(ramps(size, .yuv420), iccProfile: iccProfile)
}

/// A JPEG with one more segment after its SOI.
func inserting(_ marker: UInt8, _ data: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
  let length = data.count + 2
  return Array(jpeg[..<2]) + [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)] + data + jpeg[2...]
}

/// A TIFF structure that holds an orientation and when the picture was taken.
func exif(orientation: Int, isBigEndian: Bool = false) -> [UInt8] {
  func number(_ value: Int, _ count: Int) -> [UInt8] {
    let bytes = (0..<count).map { UInt8(value >> (8 * $0) & 0xFF) }
    return isBigEndian ? bytes.reversed() : bytes
  }
  func entry(_ tag: Int, _ type: Int, _ count: Int, _ field: [UInt8]) -> [UInt8] {
    number(tag, 2) + number(type, 2) + number(count, 4) + field
      + [UInt8](repeating: 0, count: 4 - field.count)
  }
  let text = Array("2024:02:29 23:59:58\0".utf8)
  var bytes = Array((isBigEndian ? "MM" : "II").utf8) + number(42, 2) + number(8, 4)
  bytes += number(2, 2) + entry(0x0112, 3, 1, number(orientation, 2)) + entry(0x8769, 4, 1, number(38, 4))
  bytes += number(0, 4)
  bytes += number(2, 2) + entry(0x9003, 2, text.count, number(68, 4)) + entry(0x9291, 2, 4, Array("042".utf8))
  return bytes + number(0, 4) + text
}

/// An ICC profile's header and nothing that it promises.
func profile(_ space: String = "RGB ", count: Int = 200) -> [UInt8] {
  var bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
  bytes.replaceSubrange(16..<20, with: space.utf8)
  return bytes
}

/// Runs `body` with the path of a file that holds `bytes`, and that is removed afterwards.
func withFile<Result>(
  _ bytes: [UInt8], named name: String = "file", _ body: (String) async throws -> Result
) async throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appending(path: "glpreview-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let file = folder.appending(path: name)
  try Data(bytes).write(to: file)
  return try await body(file.path(percentEncoded: false))
}

/// Runs `body` with the path of a FIFO into which `bytes` are written.
func withFIFO<Result>(_ bytes: [UInt8], _ body: (String) async throws -> Result) async throws -> Result {
  try await withFile([]) { path in
    let fifo = path + ".fifo"
    try #require(unsafe mkfifo(fifo, 0o600) == 0)
    // Opening waits for the reader, on a thread that nobody else needs. A reader that has enough closes its end, and what
    // is still unwritten is lost.
    Thread.detachNewThread { try? Data(bytes).write(to: URL(filePath: fifo)) }
    return try await body(fifo)
  }
}

extension SourceOptions {
  /// Options by which a stream loses nothing.
  static func lossless(_ options: SourceOptions = SourceOptions()) -> SourceOptions {
    var options = options
    options.live.delivery = .every(maximumBytes: 1 << 20)
    return options
  }
}

/// All frames of what is at `path`, or called so.
func frames(_ path: String, _ options: SourceOptions = SourceOptions(), limit: Int = 100) async throws
  -> [Frame]
{
  let source = try await SourceLocator(path).open(options)
  var frames: [Frame] = []
  while frames.count < limit, let frame = try await source.nextFrame() { frames.append(frame) }
  return frames
}
