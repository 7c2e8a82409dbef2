// Finds the recordings of a span, reads where their pictures are, and reads the resulting file.
internal import Synchronization

/// Prepares the files of recorded spans. Equal requests share a file, and the newest are kept.
final class RecordedSpans: Sendable {
  private let folder: RecordingFolder
  private let budget: MemoryBudget
  private let limits: RecordedSpanBuilder.Limits
  private let spans: SingleFlightCache<Key, RecordedSpan?>
  private let gate = AdmissionLimit(capacity: 4, subject: "recorded spans being prepared")

  /// A span of recordings, as far as they were written.
  private struct Key: Hashable {
    let from, to: WallTime
    let recordings: [File]

    struct File: Hashable {
      let name: StampedFileName
      let byteCount: Int
    }
  }

  /// The most recordings of a span.
  static let mostRecordings = 20_000
  /// The most bytes that are kept of heads and tables.
  private static let mostBytes = 128 << 20
  /// How long a player may pause between two requests for parts of a file that is kept.
  private static let lifetime = Duration.seconds(60)
  /// How long a request waits for its place at most.
  private static let queueTimeout = Duration.seconds(60)

  init(
    _ folder: RecordingFolder, within budget: MemoryBudget,
    limits: RecordedSpanBuilder.Limits = RecordedSpanBuilder.Limits()
  ) {
    (self.folder, self.budget, self.limits) = (folder, budget, limits)
    spans = SingleFlightCache(
      capacity: min(Self.mostBytes, budget.capacity / 8), lifetime: Self.lifetime
    ) { $0?.memory ?? 0 }
  }

  /// Finds the recordings of a span.
  ///
  /// - Parameters:
  ///   - camera: the camera's name.
  ///   - view: the recorded view; nil for `preferred`, or another if that was not recorded then.
  ///   - preferred: the view that the camera's configuration names.
  ///   - from: a time before `to`. The file begins with the newest picture then, or with the next one.
  ///   - to: the time before which the file ends.
  /// - Returns: the file of the span; nil if nothing of it was recorded.
  /// - Throws: `Problem`: 400 for a span that is too large, 409 if the size of the pictures changes, 429 and
  ///   503 if too many wait, 500 for a damaged recording; `MemoryBudget.Exceeded`.
  func span(
    of camera: String, view: String?, preferring preferred: String?, from: WallTime, to: WallTime
  ) async throws -> RecordedSpan? {
    let recordings = try await recordings(of: camera, view: view, preferring: preferred, from: from, to: to)
    guard !recordings.isEmpty else { return nil }
    let key = Key(
      from: from, to: to, recordings: recordings.map { Key.File(name: $0.name, byteCount: $0.bytes) })
    return try await spans.value(key, { nil }) { [self] in
      let permit = try await gate.enter(within: Self.queueTimeout)
      defer { withExtendedLifetime(permit) {} }
      return try await prepared(recordings, from: from, to: to)
    }
  }

  /// Returns the recordings of one view that may have pictures of a span, in the order of time.
  private func recordings(
    of camera: String, view: String?, preferring preferred: String?, from: WallTime, to: WallTime
  ) async throws -> [Recording] {
    let found = await folder.read(of: camera, from: from, to: to, limit: Self.mostRecordings + 1) {
      view == nil || $0.view == view
    }
    guard found.count <= Self.mostRecordings else {
      throw Problem.badParameter(
        "from", "this span has more than \(Self.mostRecordings) recordings: choose a shorter one")
    }
    let chosen = view ?? (found.contains { $0.view == preferred } ? preferred : found.first?.view)
    let ordered = Array(found.reversed()).filter { $0.view == chosen && $0.bytes > 0 }
    return Array(RecordedSpanBuilder.relevant(ordered, from: from))
  }

  private func prepared(
    _ recordings: [Recording], from: WallTime, to: WallTime
  ) async throws -> RecordedSpan? {
    let lease = try budget.reserve(0)
    var builder = RecordedSpanBuilder(from: from, to: to, within: limits)
    for recording in recordings {
      try Task.checkCancellation()
      // A recording that has been removed meanwhile is left out.
      guard let file = await folder.open(recording) else { continue }
      let held = builder.memory
      let known = await file.index(to: recording.bytes) { [weak lease] count in
        (try? lease?.resize(to: held + count * MP4Index.bytesPerPicture)) != nil
      }
      guard let index = known else {
        try Task.checkCancellation()
        throw MemoryBudget.Exceeded()
      }
      let indexBytes = index.pictures.capacity * MemoryLayout<MP4Index.Picture>.stride
      try lease.resize(to: builder.memory(with: recording, index) + indexBytes)
      try builder.append(recording, index)
    }
    return try builder.finish(holding: lease)
  }

  /// Returns a reader for one answer.
  func reader(of span: RecordedSpan) -> RecordedSpanReader { RecordedSpanReader(span, in: folder) }
}

/// Reads the file of a span for one answer. One recording is open at a time.
final class RecordedSpanReader: Sendable {
  private let span: RecordedSpan
  private let folder: RecordingFolder
  private let current = Mutex<Current?>(nil)

  /// The part that was read last.
  private struct Current: Sendable {
    let part: Int
    let file: DiskFile
  }

  fileprivate init(_ span: RecordedSpan, in folder: RecordingFolder) {
    (self.span, self.folder) = (span, folder)
  }

  /// The recording that was read last; nil while only the head was read.
  var recording: Recording? { current.withLock { $0?.part }.map { span.parts[$0].recording } }

  /// Returns up to `count` bytes from `offset` on; none if the recording has been removed.
  func read(_ offset: Int, _ count: Int) async -> [UInt8] {
    let headBytes = span.head.count
    guard offset >= headBytes else { return Array(span.head[offset..<min(offset + count, headBytes)]) }
    let (part, ranges) = span.place(of: offset - headBytes, count)
    guard let file = await file(of: part) else { return [] }
    return await file.read(ranges)
  }

  private func file(of part: Int) async -> DiskFile? {
    if let known = current.withLock({ $0 }), known.part == part { return known.file }
    // The one before is closed first.
    current.withLock { $0 = nil }
    guard let file = await folder.open(span.parts[part].recording) else { return nil }
    current.withLock { $0 = Current(part: part, file: file) }
    return file
  }
}
