// The works of `glpreview bench`: three typical uses of camera frames.
import Conformance
import GLPreview

/// One work, the same for every frame.
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
        throw UsageError("--work \(word) is none of \(names)")
      }
      return work
    }
  }

  /// One line about the work.
  var title: String {
    switch self {
    case .w1: "1920x1080 JPEG (q90, 4:2:0) -> 640x360 -> JPEG (q80, 4:2:0)"
    case .w2:
      "1920x1080 NV12 -> 640x360, 320x320 cropped and mirrored, 360x640 turned, 160x90 -> four JPEGs (q80)"
    case .w3: "3840x2160 NV12 -> 640x360 RGBA"
    }
  }

  /// The format of the frames that the renderer gets.
  var format: FrameFormat {
    switch self {
    case .w1: FrameFormat(.i420, Size(width: 1920, height: 1080), color: .jfif)
    case .w2: FrameFormat(.nv12, Size(width: 1920, height: 1080), color: Self.camera)
    case .w3: FrameFormat(.nv12, Size(width: 3840, height: 2160), color: Self.camera)
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
        width: 320,
        height: 320),
      ViewConfiguration(name: "c", rotation: .clockwise90, width: 360, height: 640),
      ViewConfiguration(name: "d", width: 160, height: 90),
    ]
  }

  /// Nil if pictures are not encoded.
  var encoder: PictureEncoder? { self == .w3 ? nil : PictureEncoder(.jpeg, quality: 80) }

  /// How `render` reads the file of frames.
  var sourceOptions: SourceOptions {
    guard !isEncoded else { return SourceOptions() }
    return SourceOptions(
      inputFormat: format.pixelFormat, inputSize: format.size,
      color: ColorOverride(matrix: format.color.matrix, range: format.color.range))
  }
}
