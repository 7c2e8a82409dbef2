// The generated input frames of `glpreview bench`, the same on every machine.
import Conformance
import FoundationEssentials
import GLPreview

/// Generates frames.
struct BenchInput {
  private let scene = CameraScene()
  /// The number of different frames, which then repeat.
  let frameCount: Int

  /// Creates an input of at most `count` frames; there are no more than `CameraScene.frameCount`.
  init(atMost count: Int = .max) { frameCount = min(count, CameraScene.frameCount) }

  /// The content of each frame's file: a JPEG, or the samples of a raw frame.
  func frames(for work: BenchWork) throws -> [[UInt8]] {
    try (0..<frameCount).map { index in
      let frame = try scene.frame(index, work.format)
      guard work.isEncoded else { return frame.bytes }
      let picture = Picture(tight: frame.format.size, format: .ycbcr(.yuv420), bytes: frame.bytes)
      return try JPEGEncoder(quality: BenchWork.sourceQuality).encode(picture)
    }
  }

  /// Writes all frames of `work` into one file, like a camera recording: JPEGs or raw frames one after another.
  func write(_ frames: [[UInt8]], of work: BenchWork, into folder: String) throws -> String {
    let path = "\(folder)/\(work.rawValue).\(work.isEncoded ? "mjpeg" : "nv12")"
    var bytes: [UInt8] = []
    bytes.reserveCapacity(frames.reduce(0) { $0 + $1.count })
    for frame in frames { bytes += frame }
    try PictureFile.write(bytes, to: path)
    return path
  }

  /// Writes the files of `--write-frames`, which `render` and similar programs read; JPEGs also one by one.
  func writeAll(_ works: [BenchWork], into folder: String) throws -> [String] {
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch {
      throw UsageError("--write-frames \(folder): can't create this folder")
    }
    var paths: [String] = []
    for work in works {
      let frames = try frames(for: work)
      paths.append(try write(frames, of: work, into: folder))
      guard work.isEncoded else { continue }
      for (index, frame) in frames.enumerated() {
        let path = "\(folder)/\(work.rawValue)-\(index).jpg"
        try PictureFile.write(frame, to: path)
        paths.append(path)
      }
    }
    return paths
  }
}

/// A temporary folder that exists while work is done in it.
enum TemporaryFolder {
  /// Creates a folder, runs `work` in it, and deletes it with its content.
  static func with(_ work: (String) async throws -> Void) async throws {
    let name = "glpreview-bench-\(UUID().uuidString)"
    let path = FileManager.default.temporaryDirectory.appending(path: name).path
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw SourceError(.unreadable, path: path, reason: "can't create a temporary folder here")
    }
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await work(path)
  }
}
