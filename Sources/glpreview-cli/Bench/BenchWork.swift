// The workloads of `glpreview bench`: three typical uses of camera frames, with generated frames that are
// identical on every machine.
import Conformance
import FoundationEssentials
import GLPreview

/// One workload, identical for every frame.
enum BenchWork: String, CaseIterable {
  /// A thumbnail of each frame of an MJPEG stream.
  case w1 = "W1"
  /// Four views of each raw frame.
  case w2 = "W2"
  /// A small picture of each large raw frame, for a program that processes pixels.
  case w3 = "W3"

  /// Parses `--work`.
  static func works(_ text: String) throws -> [BenchWork] {
    try text.split(separator: ",", omittingEmptySubsequences: false).map { word in
      guard let work = BenchWork(rawValue: word.uppercased()) else {
        let names = allCases.map(\.rawValue).joined(separator: ", ")
        throw UsageError("--work \(word) is not one of \(names)")
      }
      return work
    }
  }

  /// A title in one line.
  var title: String {
    switch self {
    case .w1: "1920x1080 JPEG (q90, 4:2:0) -> 640x360 -> JPEG (q80, 4:2:0)"
    case .w2:
      "1920x1080 NV12 -> 640x360, 320x320 cropped and mirrored, 360x640 turned, 160x90 -> four JPEGs (q80)"
    case .w3: "3840x2160 NV12 -> 640x360 RGBA"
    }
  }

  /// The format of the frames that the renderer gets.
  var format: Frame.Format {
    switch self {
    case .w1: Frame.Format(.i420, Size(width: 1920, height: 1080), color: .jfif)
    case .w2: Frame.Format(.nv12, Size(width: 1920, height: 1080), color: Self.camera)
    case .w3: Frame.Format(.nv12, Size(width: 3840, height: 2160), color: Self.camera)
    }
  }

  private static let camera = ColorDescription(matrix: .bt601, range: .limited, siting: .left)

  /// Whether the frames are JPEGs.
  var isEncoded: Bool { self == .w1 }

  /// The JPEG quality of the frames.
  static let sourceQuality = 90

  var views: [ViewConfiguration] {
    let whole = ViewConfiguration(name: "a", width: 640, height: 360)
    guard self == .w2 else { return [whole] }
    return [
      whole,
      ViewConfiguration(
        name: "b", crop: Rectangle(x: 420, y: 0, width: 1080, height: 1080), mirroring: .horizontal,
        width: 320, height: 320),
      ViewConfiguration(name: "c", rotation: .clockwise90, width: 360, height: 640),
      ViewConfiguration(name: "d", width: 160, height: 90),
    ]
  }

  /// The encoder; nil if pictures are not encoded.
  var encoder: PictureEncoder? { self == .w3 ? nil : PictureEncoder(.jpeg, quality: 80) }

  /// The options with which `render` reads the file of frames.
  var sourceOptions: SourceOptions {
    guard !isEncoded else { return SourceOptions() }
    return SourceOptions(
      inputFormat: format.pixelFormat, inputSize: format.size,
      color: ColorDescription.Override(matrix: format.color.matrix, range: format.color.range))
  }
}

struct BenchInput {
  private let scene = CameraScene()
  /// The number of different frames, which then repeat.
  let frameCount: Int

  /// Creates an input of at most `count` frames, and at most `CameraScene.frameCount`.
  init(atMost count: Int = .max) { frameCount = min(count, CameraScene.frameCount) }

  /// Returns the file content of each frame: a JPEG, or the samples of a raw frame.
  func frames(for work: BenchWork) throws -> [[UInt8]] {
    try (0..<frameCount).map { index in
      let frame = try scene.frame(index, work.format)
      guard work.isEncoded else { return frame.bytes }
      let picture = Picture(tight: frame.format.size, format: .ycbcr(.yuv420), bytes: frame.bytes)
      return try JPEGEncoder(quality: BenchWork.sourceQuality).encode(picture)
    }
  }

  /// Writes all frames of `work` into one file, like a camera recording: concatenated JPEGs or raw frames.
  func write(_ frames: [[UInt8]], of work: BenchWork, into folder: String) throws -> String {
    let path = "\(folder)/\(work.rawValue).\(work.isEncoded ? "mjpeg" : "nv12")"
    var bytes: [UInt8] = []
    bytes.reserveCapacity(frames.reduce(0) { $0 + $1.count })
    for frame in frames { bytes += frame }
    try PictureFile.write(bytes, to: path)
    return path
  }

  /// Writes the files of `--write-frames`, for `render` and similar programs. JPEGs are also written one by
  /// one.
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

/// A temporary folder for the duration of some work.
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
