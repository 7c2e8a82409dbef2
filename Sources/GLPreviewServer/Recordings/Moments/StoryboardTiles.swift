// Finds the recorded pictures of a storyboard's tiles, and draws those of a sheet together.
internal import HTTPTypes

/// A recording that shows something of a part, and what clients with the role `read` may see of it.
struct StoryboardSource: Sendable {
  let recording: Recording
  let showing: RecordingNote.Showing
}

/// The picture of a tile.
struct StoryboardTile: Sendable {
  let moment: RecordedMoment
  let showing: RecordingNote.Showing

  /// Identifies the picture.
  struct Key: Hashable {
    let name: StampedFileName
    let number: Int
  }

  var key: Key { Key(name: moment.recording.name, number: moment.number) }
}

/// The tiles of a sheet.
struct StoryboardSheet: Sendable {
  /// The parts of the span, and the tile of each; nil for a part that shows nothing.
  let parts: Range<Int>
  let tiles: [StoryboardTile?]
  /// The size of a tile, and of the sheet.
  let tile: Size
  let size: Size
}

/// The tiles of a camera's storyboard for a client.
struct StoryboardTiles: Sendable {
  let rights: RecordingRights
  let moments: RecordedMoments
  let camera: String
  let query: StoryboardQuery
  /// Whether the client has the role `control`, which may see all recordings.
  let seesAll: Bool
  /// Pictures of more pixels, and of more than a tile, are drawn at the size of a tile one by one.
  private static let mostPixels = 640 * 480

  private var storyboard: Storyboard { query.storyboard }

  /// Parts at least this long are described without reading where their files have keyframes: adjacent tiles
  /// are hardly ever equal.
  private static let longPart = Duration.seconds(10)
  /// The most recordings of a part that are examined for one that the client may see.
  private static let mostExamined = 32
  /// The most recordings that are examined for the shape of the tiles.
  private static let mostShapes = 4
  /// The shape of the tiles if no picture can be read.
  private static let usualShape = Size(width: 16, height: 9)

  // MARK: Answers

  /// Returns the ranges of parts that share a tile, the size of a tile, and whether any shows a hidden
  /// recording; nil if nothing of the span was recorded.
  func cues() async throws -> (ranges: [Range<Int>], tile: Size, showHidden: Bool)? {
    guard let sources = try await sources(of: storyboard.parts) else { return nil }
    let tile = try await tileSize(sources)
    let showHidden = sources.contains { $0?.showing == .hidden }
    guard storyboard.partLength < Self.longPart else {
      let parts: [Int?] = sources.enumerated().map { $1 == nil ? nil : $0 }
      return (Storyboard.joined(parts), tile, showHidden)
    }
    let tiles = try await tiles(of: storyboard.parts, from: sources)
    return (Storyboard.joined(tiles.map { $0?.key }), tile, showHidden)
  }

  /// Returns the tiles of the requested sheet; nil if it shows nothing.
  func sheet() async throws -> StoryboardSheet? {
    let parts = storyboard.parts(ofSheet: query.sheet)
    // Without the height, the first tile of all decides the shape.
    let range = query.height == nil ? storyboard.parts : parts
    guard let all = try await sources(of: range) else { return nil }
    let sources = Array(all[(parts.lowerBound - range.lowerBound)...].prefix(parts.count))
    let tiles = try await tiles(of: parts, from: sources)
    guard tiles.contains(where: { $0 != nil }) else { return nil }
    let tile = try await tileSize(all)
    return StoryboardSheet(
      parts: parts, tiles: tiles, tile: tile, size: storyboard.size(ofSheet: query.sheet, tile: tile))
  }

  /// Whether a sheet may show the client more than the role `read` may see.
  func needsControl(_ sheet: StoryboardSheet) -> Bool {
    seesAll && sheet.tiles.compactMap(\.self).contains { $0.showing != .whole }
  }

  /// Whether anything was recorded in the span.
  func areRecorded() async throws -> Bool { try await sources(of: storyboard.parts) != nil }

  /// Whether a sheet may still be shown.
  func mayShow(_ sheet: StoryboardSheet) -> Bool {
    sheet.tiles.allSatisfy { tile in
      guard let tile else { return true }
      return rights.showing(tile.moment.recording) == tile.showing || seesAll && tile.showing == .hidden
    }
  }

  // MARK: Recordings

  /// A recording, and when it starts and ends as far as that is known.
  private struct Candidate {
    let recording: Recording
    let start, end: WallTime

    /// How far it is from a time; zero if it shows that time.
    func distance(from time: WallTime) -> Duration {
      time < start ? start.sinceEpoch - time.sinceEpoch : max(time.sinceEpoch - end.sinceEpoch, .zero)
    }
  }

  /// Returns for each part the recording that is nearest to its middle; nil for a part of which the client
  /// may see nothing. Returns nil if nothing was recorded in any of them.
  private func sources(of parts: Range<Int>) async throws -> [StoryboardSource?]? {
    var sources: [StoryboardSource?] = []
    var isRecorded = false
    for (part, candidates) in zip(parts, candidates(for: parts)) {
      try Task.checkCancellation()
      let found = await found(in: part, among: candidates)
      sources.append(found.source)
      isRecorded = isRecorded || found.isRecorded
    }
    return isRecorded ? sources : nil
  }

  /// Returns for each part the recordings that may overlap it.
  private func candidates(for parts: Range<Int>) -> [[Candidate]] {
    let (from, to) = (storyboard.start(of: parts.lowerBound), storyboard.start(of: parts.upperBound))
    let now = WallTime.now
    var candidates = [[Candidate]](repeating: [], count: parts.count)
    // A recording that was not read yet ends before the next one of its view.
    var next: [String: WallTime] = [:]
    for recording in moments.folder.recordings(of: camera, from: from, to: to, limit: .max)
    where recording.bytes > 0 && (query.view == nil || recording.view == query.view) {
      let start = recording.firstTime
      let end = recording.end ?? (recording.isOpen ? now : next[recording.view] ?? now)
      next[recording.view] = start
      let candidate = Candidate(recording: recording, start: start, end: end)
      for part in storyboard.parts(near: start, end).clamped(to: parts)
      where start < storyboard.start(of: part + 1) && end > storyboard.start(of: part) {
        candidates[part - parts.lowerBound].append(candidate)
      }
    }
    return candidates
  }

  /// Returns the recording that is nearest to the middle of a part and that the client may see, and whether
  /// there is one at all.
  private func found(
    in part: Int, among candidates: [Candidate]
  ) async -> (source: StoryboardSource?, isRecorded: Bool) {
    let (start, middle, preferred) = (
      storyboard.start(of: part), storyboard.middle(of: part), preferredView
    )
    func rank(_ candidate: Candidate) -> (Int, Duration) {
      let isOther = query.view == nil && candidate.recording.view != preferred
      return (isOther ? 1 : 0, candidate.distance(from: middle))
    }
    func isBetter(_ one: Candidate, _ other: Candidate) -> Bool {
      let (a, b) = (rank(one), rank(other))
      // Of two that are equally near, the later one.
      return a == b ? one.start > other.start : a < b
    }
    var isRecorded = false
    for candidate in candidates.sorted(by: isBetter).prefix(Self.mostExamined) {
      guard let recording = await known(candidate.recording), recording.end.map({ $0 > start }) ?? true else {
        continue
      }
      isRecorded = true
      let showing = rights.showing(recording)
      guard showing != .hidden || seesAll else { continue }
      return (StoryboardSource(recording: recording, showing: showing), true)
    }
    return (nil, isRecorded)
  }

  /// The view that the camera's `record` names.
  private var preferredView: String? {
    let configuration = rights.registry.served[camera: camera]?.configuration
    return configuration?.record.view ?? configuration?.views.first?.view.name
  }

  /// Returns a recording with all that its file says; nil if it is gone, or can't be read.
  private func known(_ recording: Recording) async -> Recording? {
    guard recording.isUnknown else { return recording }
    let known = await moments.folder.recording(recording.name.camera, recording.name.file)
    return known?.isUnknown == false ? known : nil
  }

  /// Returns the size of a tile, from the query, or the shape of the first picture.
  private func tileSize(_ sources: [StoryboardSource?]) async throws -> Size {
    guard query.height == nil else { return query.tile(of: Self.usualShape) }
    var (last, count): (StampedFileName?, Int) = (nil, 0)
    for source in sources.compactMap(\.self) where source.recording.name != last {
      if let size = source.recording.note.geometry?.size { return query.tile(of: size) }
      (last, count) = (source.recording.name, count + 1)
      guard count <= Self.mostShapes else { break }
      let start = source.recording.firstTime
      for moment in try await keyframes(of: source.recording, nearest: [start]).compactMap(\.self) {
        if let picture = try await decoded(moment) { return query.tile(of: picture.size) }
      }
    }
    return query.tile(of: Self.usualShape)
  }

  // MARK: Pictures

  /// Returns the tile of each part: the keyframe of its recording that is nearest to its middle.
  private func tiles(
    of parts: Range<Int>, from sources: [StoryboardSource?]
  ) async throws -> [StoryboardTile?] {
    var tiles: [StoryboardTile?] = []
    while tiles.count < sources.count {
      let first = tiles.count
      guard let source = sources[first] else {
        tiles.append(nil)
        continue
      }
      // A file is searched once for all adjacent parts that it shows.
      let isOther = { (other: StoryboardSource?) in other?.recording.name != source.recording.name }
      let end = sources[first...].firstIndex(where: isOther) ?? sources.count
      let middles = (first..<end).map { storyboard.middle(of: parts.lowerBound + $0) }
      let found = try await keyframes(of: source.recording, nearest: middles)
      tiles += found.map { moment in moment.map { StoryboardTile(moment: $0, showing: source.showing) } }
    }
    return tiles
  }

  /// Returns the keyframe that is nearest to each time; nil for all if there are none.
  private func keyframes(
    of recording: Recording, nearest times: [WallTime]
  ) async throws -> [RecordedMoment?] {
    try Task.checkCancellation()
    do {
      return try await moments.keyframes(of: recording, nearest: times)
    } catch let problem as Problem where problem.status == .notFound {
      // It has just been removed.
      return times.map { _ in nil }
    }
  }

  /// Decodes a picture; nil if it has just been removed, or is damaged.
  private func decoded(_ moment: RecordedMoment) async throws -> DecodedPicture? {
    do { return try await moments.picture(of: moment) } catch let problem as Problem
      where problem.status == .notFound || problem.status == .internalServerError
    {
      return nil
    }
  }

  // MARK: Drawing

  /// Draws a sheet from at most 25 decoded pictures, of which at most one is large at a time.
  ///
  /// - Throws: `Problem`, `ParameterError` if the sheet is too large, `MemoryBudget.Exceeded`, the errors of
  ///   drawing.
  func draw(_ sheet: StoryboardSheet) async throws -> RenderedPicture {
    var frames: [Frame] = []
    var contents: [StoryboardTile.Key: LayerContent] = [:]
    var composition = Composition(size: sheet.size)
    // The memory of the frames.
    var memory: [any Sendable] = []
    for (part, tile) in zip(sheet.parts, sheet.tiles) {
      guard let tile else { continue }
      if contents[tile.key] == nil, let drawable = try await picture(of: tile, for: sheet.tile) {
        contents[tile.key] = .view(input: frames.count, drawable.view)
        frames.append(drawable.frame)
        if let own = drawable.memory { memory.append(own) }
      }
      guard let content = contents[tile.key] else { continue }
      composition.layers.append(Layer(content, in: storyboard.place(of: part, tile: sheet.tile)))
    }
    guard let first = sheet.tiles.compactMap(\.self).first, !frames.isEmpty else {
      throw Problem(.internalServerError, "the recordings of this sheet are damaged, or have been removed")
    }
    defer { withExtendedLifetime(memory) {} }
    return try await rights.registry.session.draw(
      composition, of: frames, as: .ycbcr(.yuv420), named: "storyboard",
      at: CaptureClock.instant(at: first.moment.time), coding: PictureCoding(quality: query.quality))
  }

  /// A picture that is drawn into a tile.
  private struct TilePicture {
    let frame: Frame
    let view: ViewConfiguration
    /// The memory of the frame; nil if the frame holds it.
    let memory: (any Sendable)?
  }

  /// Returns the picture of a tile with the masks of now, a large one at the size of a tile; nil if it can't
  /// be shown.
  private func picture(of tile: StoryboardTile, for size: Size) async throws -> TilePicture? {
    guard let decoded = try await decoded(tile.moment),
      let (picture, lease) = try masked(decoded, tile.showing)
    else { return nil }
    guard picture.size.pixelCount > max(Self.mostPixels, size.pixelCount) else {
      return TilePicture(frame: picture.frame, view: Self.view(of: picture), memory: lease)
    }
    defer { withExtendedLifetime(lease) {} }
    return try await reduced(picture, to: size, at: tile.moment.time)
  }

  /// Draws a picture at the size of a tile.
  private func reduced(
    _ picture: DecodedPicture, to size: Size, at time: WallTime
  ) async throws -> TilePicture {
    var view = Self.view(of: picture)
    view.width = size.width
    view.height = size.height
    let drawn = try await rights.registry.session.draw(
      picture.frame, [view], as: .ycbcr(.yuv420), at: CaptureClock.instant(at: time))
    guard let small = drawn.first?.picture else {
      throw Problem(.internalServerError, "nothing was drawn")
    }
    let planes = small.planes.map { Frame.Plane(offset: $0.offset, bytesPerRow: $0.bytesPerRow) }
    let format = Frame.Format(.i420, small.size, color: .jfif)
    let frame = try Frame(format, bytes: small.bytes, planes: planes)
    return TilePicture(frame: frame, view: ViewConfiguration(contentMode: .fit), memory: small)
  }

  /// Hides what the masks of now hide; returns the memory of the copy, too. Nil if that can't be found in the
  /// picture, and the client may not see all.
  private func masked(
    _ picture: DecodedPicture, _ showing: RecordingNote.Showing
  ) throws -> (DecodedPicture, MemoryLease?)? {
    guard case .masked(let masks, let geometry) = showing else { return (picture, nil) }
    // The camera's size has changed within the file.
    guard geometry.size == picture.size else {
      if seesAll { return (picture, nil) }
      return nil
    }
    let plan = MaskPlan(masks, shownBy: geometry, format: picture.frame.format)
    let lease = try rights.registry.budget.reserve(picture.frame.storage.count)
    return (DecodedPicture(frame: picture.frame.masked(by: plan), size: picture.size), lease)
  }

  /// The view that shows a whole picture in a tile.
  private static func view(of picture: DecodedPicture) -> ViewConfiguration {
    var view = ViewConfiguration(contentMode: .fit)
    let shown = Rectangle(all: picture.size)
    let coded = picture.frame.format.uprightSize
    if picture.size != coded, shown.isInside(coded) { view.crop = shown }
    return view
  }
}
