// Files that a service has recorded of the pattern `counter`, for tests of what later services show of them.
import FoundationEssentials
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Recordings
@testable import ServiceCore
@testable import ServiceFoundation
@testable import VideoFormats

struct RecordedCounter: Sendable {
  struct Picture: Sendable {
    let time: WallTime
    /// The number that it shows.
    let number: Int
    let isKey: Bool
  }

  struct File: Sendable {
    let name: String
    let bytes: [UInt8]
    let note: RecordingNote
    let pictures: [Picture]
  }

  /// A picture that was sent while the camera was recorded.
  struct Live: Sendable {
    /// Its `X-Timestamp`.
    let time: String
    let number: Int
  }

  /// In the order of time.
  let files: [File]
  let live: [Live]

  var pictures: [Picture] { files.flatMap(\.pictures) }

  /// The content of each file, by its name.
  var contents: [String: [UInt8]] { Dictionary(uniqueKeysWithValues: files.map { ($0.name, $0.bytes) }) }

  /// Recorded once for all tests.
  static let shared = Task { try await RecordedCounter.record() }

  private static func record() async throws -> RecordedCounter {
    try await withTemporaryFolder { folder in
      let configuration = Self.configuration(folder) { $0.record.when = .always }
      let live = try await withService(configuration) { service in
        var live: [Live] = []
        try await until {
          let answer = try await service.get("/cameras/camera/main.png?max_age=0")
          let time = try #require(answer.headers["X-Timestamp"].first)
          if let number = try ReadPicture(file: answer.bytes).number {
            live.append(Live(time: time, number: number))
          }
          return live.count >= 10 && service.recordings.count { $0.duration != nil } >= 3
        }
        return live
      }
      return RecordedCounter(files: try await Self.files(in: folder), live: live)
    }
  }

  // MARK: Services

  static let reader = [("Authorization", "Bearer look")]
  static let controller = [("Authorization", "Bearer rule")]

  /// Both roles have a token.
  static let access: AccessConfiguration = {
    var access = AccessConfiguration()
    access.tokens = [.init(secret: "look", role: .read), .init(secret: "rule", role: .control)]
    return access
  }()

  /// A camera with keyframes twice a second, files of a second, and masks in pixels of 160x90. It is not
  /// recorded unless `change` says so.
  static func configuration(
    _ folder: URL, _ change: (inout CameraConfiguration) -> Void = { _ in }
  ) -> ServerConfiguration {
    var view = ServedView()
    view.video.keyframeInterval = .milliseconds(500)
    var camera = CameraConfiguration(source: "pattern:counter,size=160x90,fps=20", views: [view])
    camera.record.segment = .seconds(1)
    camera.options.referenceSize = Size(width: 160, height: 90)
    change(&camera)
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.recordings = FolderConfiguration(path: folder.path)
    return configuration
  }

  // MARK: Files

  static func files(in folder: URL) async throws -> [File] {
    var files: [File] = []
    for name in try names(in: folder) {
      files.append(try await File(name, in: folder.appending(path: "camera")))
    }
    return files
  }

  static func names(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "camera").path)
      .filter { $0.hasSuffix(".mp4") }.sorted()
  }

  /// Decodes all pictures of a file in order, without an index.
  static func decoded(_ file: URL) async throws -> [ReadPicture] {
    let source = try await SourceLocator(file.path).open()
    var pictures: [ReadPicture] = []
    while let frame = try await source.nextFrame() { pictures.append(ReadPicture(frame)) }
    return pictures
  }
}

extension RecordedCounter.File {
  fileprivate init(_ name: String, in folder: URL) async throws {
    let file = folder.appending(path: name)
    let bytes = try Array(Data(contentsOf: file))
    func read(_ offset: Int, _ count: Int) -> [UInt8] {
      Array(bytes[offset..<min(offset + count, bytes.count)])
    }
    var index = MP4Index()
    index.extend(to: bytes.count, read: read)
    let known = MP4Recording(size: bytes.count, read: read)
    let (note, time) = try #require(known.flatMap { RecordingNote.read($0.note) })
    let start = try #require(time)
    let decoded = try await RecordedCounter.decoded(file)
    try #require(decoded.count == index.pictures.count && !decoded.isEmpty)
    var pictures: [RecordedCounter.Picture] = []
    for (place, picture) in zip(index.pictures, decoded) {
      let time = WallTime(sinceEpoch: start.sinceEpoch + .microseconds(place.ticks * 100 / 9))
      let number = try #require(picture.number)
      pictures.append(RecordedCounter.Picture(time: time, number: number, isKey: place.isKey))
    }
    (self.name, self.bytes, self.note, self.pictures) = (name, bytes, note, pictures)
  }

  /// The file, as if its first picture had been captured so many seconds after 1970.
  func moved(to seconds: Int) throws -> [UInt8] {
    var moved = bytes
    let key = Array(#""start":"#.utf8)
    let digits = String(seconds * 1_000_000).utf8
    let place = try #require(moved.firstRange(of: key)).upperBound
    moved.replaceSubrange(place..<place + digits.count, with: digits)
    return moved
  }

  /// The file with a note that can't be read.
  func withoutNote() throws -> [UInt8] {
    var changed = bytes
    let place = try #require(changed.firstRange(of: Array("glpreview {".utf8)))
    changed.replaceSubrange(place, with: "somewhat! {".utf8)
    return changed
  }

  /// The time between its first and its last picture.
  var span: Duration {
    guard let first = pictures.first, let last = pictures.last else { return .zero }
    return last.time.sinceEpoch - first.time.sinceEpoch
  }
}

extension RunningService {
  /// The known recordings, the newest first.
  var recordings: [Recording] {
    inside.recorders?.folder.recordings(of: nil, from: nil, to: nil, limit: 1000) ?? []
  }
}

/// Runs `work` beside a service that has these files of an earlier run in the folder of `camera`, and that
/// records nothing.
func withEarlierRecordings(
  _ files: [String: [UInt8]], _ change: (inout ServerConfiguration) -> Void = { _ in },
  _ work: @escaping @Sendable (RunningService, ServerConfiguration) async throws -> Void
) async throws {
  try await withTemporaryFolder { folder in
    let camera = folder.appending(path: "camera")
    try FileManager.default.createDirectory(at: camera, withIntermediateDirectories: true)
    for (name, bytes) in files { try Data(bytes).write(to: camera.appending(path: name)) }
    var changed = RecordedCounter.configuration(folder)
    change(&changed)
    let configuration = changed
    try await withService(configuration) { service in
      await until { service.recordings.count == files.count }
      try await work(service, configuration)
    }
  }
}
