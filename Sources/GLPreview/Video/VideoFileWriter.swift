// Writes samples to a file: an MP4 that players can seek in, or a bare stream.
internal import Glibc

/// Writes a video file.
///
/// ```swift
/// let file = try VideoFileWriter("clip.mp4")
/// for try await sample in preview.video() {
///   try file.append(sample)
///   if sample.timestamp - start > .seconds(10) { break }
/// }
/// try file.finish()
/// ```
///
/// An MP4 file has its tables before its pictures, so that players can show it while they load it. It appears
/// under its name when it is finished and complete. FIFOs and standard output get a fragmented MP4 instead,
/// as the pictures come.
public final class VideoFileWriter {
  /// The formats of video files.
  public enum Format: String, Sendable, Hashable, CaseIterable {
    /// MP4.
    case mp4
    /// H.264 without a container (Annex B), without times.
    case h264

    /// The format for a file name, by its extension in any case; nil for other names.
    public init?(fileName: String) {
      let name = fileName.lowercased()
      guard let format = Self.allCases.first(where: { name.hasSuffix(".\($0.rawValue)") }) else { return nil }
      self = format
    }
  }

  private enum Target {
    /// All samples; the tables are put before them at the end.
    case samples(PartialFile)
    case fragments(CInt)
    case stream(CInt)
  }

  private let path: String
  private let target: Target
  private var tables = MP4Tables()
  private var fragments = FragmentedMP4()
  private var isWaitingForKey = true
  /// The bytes that were written so far.
  public private(set) var byteCount = 0

  /// Opens a file, which is replaced when it is finished; `-` is standard output.
  ///
  /// - Parameters:
  ///   - path: the file's name.
  ///   - format: its format; nil for that of the name, or MP4 if the name has none.
  /// - Throws: `WriteError`.
  public init(_ path: String, _ format: Format? = nil) throws(WriteError) {
    self.path = path
    let format = format ?? Format(fileName: path) ?? .mp4
    guard format == .mp4, path != "-", !PartialFile.isInPlace(path) else {
      let file =
        path == "-"
        ? dup(STDOUT_FILENO) : unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0o666)
      guard file >= 0 else { throw WriteError(opening: path, errno) }
      target = format == .mp4 ? .fragments(file) : .stream(file)
      return
    }
    target = .samples(try PartialFile(for: path))
  }

  deinit {
    switch target {
    case .samples: break
    case .fragments(let file), .stream(let file): close(file)
    }
  }

  /// Appends a sample. Samples before the first keyframe are left out.
  ///
  /// - Throws: `WriteError`.
  public func append(_ sample: VideoSample) throws(WriteError) {
    if isWaitingForKey, !sample.isKey { return }
    isWaitingForKey = false
    switch target {
    case .samples(let file):
      try file.append(sample.bytes)
      tables.append(sample)
      byteCount += sample.bytes.count
    case .fragments(let file): try write(fragments.append(sample), to: file)
    case .stream(let file): try write(sample.annexB, to: file)
    }
  }

  private func write(_ bytes: [UInt8], to file: CInt) throws(WriteError) {
    try PictureFile.write(bytes, to: file, named: path == "-" ? "standard output" : path)
    byteCount += bytes.count
  }

  /// Finishes the file. Without this call, no MP4 file is left.
  ///
  /// - Parameter lastDuration: how long the last picture is shown; nil for as long as the one before.
  /// - Throws: `WriteError`; no partial file remains.
  public func finish(lastDuration: Duration? = nil) throws(WriteError) {
    guard case .samples(let samples) = target else { return }
    guard !tables.isEmpty else { throw WriteError(path, "there is no picture to write") }
    let head = tables.head(lastDuration: lastDuration)
    let file = try PartialFile(for: path)
    try file.append(head)
    try file.append(contentsOf: samples)
    samples.remove()
    try file.finish()
    byteCount += head.count
  }
}
