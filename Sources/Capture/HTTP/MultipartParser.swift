// Parses multipart/x-mixed-replace as servers actually send it: boundaries with too many dashes or another
// name, wrong or missing lengths, missing newlines. A part ends at its declared length if a JPEG ends there,
// otherwise at the JPEG's own end, and at the next boundary in any case. A final boundary ends the stream
// only if nothing follows it.

struct MultipartParser: PictureStream {
  static let headerLimit = 16 << 10
  /// The most bytes before the first boundary. Beyond these, the stream is abandoned.
  static let preambleLimit = PictureStart.searchLimit
  /// The most bytes before the picture in a part.
  static let strayLimit = 64 << 10

  /// The buffer capacity, in bytes, above which memory is released between pictures.
  private static let keptRoom = 8 << 20

  private enum State {
    /// Before the first boundary.
    case preamble
    case header
    /// In a body that may be a picture.
    case body
    /// In a body that begins with other bytes. A picture may follow.
    case searching
    /// After a picture, or in a part that is not a picture.
    case skipping
    /// Abandoned.
    case ended
  }

  private let pictureLimit: Int
  private var boundary: MultipartBoundary
  private var state = State.preamble
  /// The unprocessed bytes: a whole body, otherwise a line or less.
  private var buffer: [UInt8] = []
  /// `buffer[position...]` is unprocessed; byte counts start there.
  private var position = 0
  /// The number of bytes that are known to contain no boundary.
  private var scanned = 0
  private var preambleCount = 0
  /// The number of the part's bytes that were searched and dropped.
  private var strayCount = 0
  private var header = PartHeader()
  /// The arrival time of the part's first byte.
  private var began: CaptureInstant?
  /// Finds the end of a picture whose length is unknown.
  private var walk: PictureWalk?
  /// Whether the part began without a boundary.
  private var isImplicit = false
  /// Whether declared lengths are trusted: until one is wrong.
  private var trustsLength = true

  /// `boundary` is the declared boundary; nil if there is none.
  init(boundary: String?, pictureLimit: Int) {
    self.boundary = MultipartBoundary(boundary)
    self.pictureLimit = pictureLimit
  }

  mutating func take(_ bytes: ArraySlice<UInt8>, at time: CaptureInstant) -> [PictureEvent] {
    guard state != .ended else { return [] }
    buffer += bytes
    var events: [PictureEvent] = []
    while position < buffer.count, advance(at: time, &events) {}
    if state == .ended { position = buffer.count }
    if position > 0 {
      buffer.removeFirst(position)
      position = 0
      // Releases the capacity of a huge picture.
      if buffer.capacity > Self.keptRoom, buffer.count < buffer.capacity / 8 { buffer = buffer.map { $0 } }
    }
    return events
  }

  mutating func finish() -> [PictureEvent] {
    defer { state = .ended }
    guard state == .body, let began else { return [] }
    let bytes = Array(rest.prefix(withoutNewline(rest.count)))
    return [.last(ReceivedPicture(bytes: bytes, time: began, serverTime: header.timestamp))]
  }

  /// The search for the end of a picture has a copy of it.
  var waitingByteCount: Int { walk == nil ? buffer.count : 2 * buffer.count }

  var missingByteCount: Int {
    guard state == .body, walk == nil, let length = header.contentLength else { return 1 }
    return max(length - buffer.count, 1)
  }

  private var rest: ArraySlice<UInt8> { buffer[position...] }

  /// Performs one step; returns false if the next one needs more bytes.
  private mutating func advance(at time: CaptureInstant, _ events: inout [PictureEvent]) -> Bool {
    switch state {
    case .preamble: readPreamble(&events)
    case .header: readHeader(&events)
    case .body: readBody(at: time, &events)
    case .searching, .skipping: skip(&events)
    case .ended: false
    }
  }

  // MARK: Between pictures

  private mutating func readPreamble(_ events: inout [PictureEvent]) -> Bool {
    guard let isPicture = PictureStart.isAtStart(of: rest) else { return false }
    if isPicture { return beginBody(isImplicit: true) }
    guard let line = nextLine(limit: Self.headerLimit) else {
      guard rest.count >= Self.headerLimit else { return false }
      drop(Self.headerLimit, &events)
      return state != .ended
    }
    if let found = boundary.match(line.text) {
      begin(after: line.count, isEnd: found == .end)
    } else if boundary.adopt(line.text) {
      // Accepts the stream's actual boundary if it differs from the declared one.
      begin(after: line.count, isEnd: false)
    } else {
      drop(line.count, &events)
    }
    return state != .ended
  }

  private mutating func drop(_ count: Int, _ events: inout [PictureEvent]) {
    position += count
    preambleCount += count
    guard preambleCount > Self.preambleLimit else { return }
    events.append(.unusable("sends \(preambleCount >> 20) MiB without a boundary or a picture"))
    state = .ended
  }

  private mutating func begin(after count: Int, isEnd: Bool) {
    position += count
    scanned = 0
    header = PartHeader()
    began = nil
    walk = nil
    state = isEnd ? .preamble : .header
  }

  private mutating func readHeader(_ events: inout [PictureEvent]) -> Bool {
    // A picture at this point means that the empty line is missing.
    guard let isPicture = PictureStart.isAtStart(of: rest) else { return false }
    if isPicture { return beginBody(isImplicit: false) }
    let room = Self.headerLimit - header.byteCount
    guard let line = nextLine(limit: room) else {
      guard rest.count >= room else { return false }
      events.append(.damaged("a part's header is larger than \(Self.headerLimit >> 10) KiB"))
      state = .skipping
      return true
    }
    if let found = boundary.match(line.text) {
      begin(after: line.count, isEnd: found == .end)
      return true
    }
    // An empty line before the first field does not end the header.
    let isEnd = line.text.isEmpty && header.byteCount > 0
    header.add(line.text, byteCount: line.count)
    position += line.count
    return isEnd ? beginBody(isImplicit: false) : true
  }

  private mutating func beginBody(isImplicit: Bool) -> Bool {
    state = .body
    scanned = 0
    began = nil
    self.isImplicit = isImplicit
    if isImplicit { header = PartHeader() }
    walk = header.contentLength == nil || !trustsLength ? PictureWalk() : nil
    return true
  }

  /// Drops everything up to the next boundary, or up to a picture that is preceded by other bytes.
  private mutating func skip(_ events: inout [PictureEvent]) -> Bool {
    let found = boundary.find(in: rest, from: scanned)
    if state == .searching {
      var limit = rest.count
      if case .found(let start, _, _) = found { limit = start }
      let searched = max(scanned - PictureStart.overlap, 0)
      if let start = PictureStart.search(in: rest.prefix(limit), from: searched),
        strayCount + start.offset <= Self.strayLimit
      {
        position += start.offset
        header.contentLength = nil
        return beginBody(isImplicit: false)
      }
    }
    switch found {
    case .found(_, let end, let isEnd):
      if state == .searching { giveNoPicture(&events) }
      begin(after: end, isEnd: isEnd)
      return true
    case .none(let searched):
      // The bytes before a boundary are needed to recognise it.
      let gone = max(searched - MultipartBoundary.lookback, 0)
      position += gone
      scanned = searched - gone
      strayCount += gone
      if state == .searching, strayCount > Self.strayLimit {
        giveNoPicture(&events)
        state = .skipping
      }
      return false
    }
  }

  private func nextLine(limit: Int) -> (text: ArraySlice<UInt8>, count: Int)? {
    guard let end = rest.prefix(limit).firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let line = buffer[position..<end]
    return (line.last == UInt8(ascii: "\r") ? line.dropLast() : line, end + 1 - position)
  }

  // MARK: Pictures

  private mutating func readBody(at time: CaptureInstant, _ events: inout [PictureEvent]) -> Bool {
    if began == nil {
      switch beginPicture(at: time, &events) {
      case .some(true): break
      case .some(false): return true
      case .none: return false
      }
    }
    let found = boundary.find(in: rest, from: scanned)
    let limit: Int
    switch found {
    case .found(let start, _, _): limit = start
    case .none(let searched):
      limit = rest.count
      scanned = searched
    }

    if let end = pictureEnd(limit) {
      give(end, &events)
      position += end
      scanned = 0
      state = isImplicit || boundary.isUnknown ? .preamble : .skipping
      return true
    }
    if case .found(let start, let end, let isEnd) = found {
      // Either the length extends beyond the boundary and is wrong, or the picture before the boundary is
      // truncated.
      if walk == nil { trustsLength = false }
      var walk = walk ?? PictureWalk()
      give(walk.end(in: rest.prefix(start)) ?? withoutNewline(start), &events)
      begin(after: end, isEnd: isEnd)
      return state != .ended
    }
    guard rest.count > pictureLimit else { return false }
    giveTooLarge(&events)
    walk = nil
    state = isImplicit || boundary.isUnknown ? .preamble : .skipping
    if state == .preamble { position = buffer.count }
    return true
  }

  /// Waits for the first bytes of a body. Returns true if a picture begins; nil if more bytes are needed.
  private mutating func beginPicture(at time: CaptureInstant, _ events: inout [PictureEvent]) -> Bool? {
    while let byte = rest.first, byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") { position += 1 }
    guard let first = rest.first else { return nil }
    if first == UInt8(ascii: "-") {
      guard let line = nextLine(limit: MultipartBoundary.longestLine) else {
        guard rest.count >= MultipartBoundary.longestLine else { return nil }
        skipPart(&events)
        return false
      }
      if let found = boundary.match(line.text) {
        begin(after: line.count, isEnd: found == .end)
      } else {
        skipPart(&events)
      }
      return false
    }
    guard let isPicture = PictureStart.isAtStart(of: rest) else { return nil }
    guard isPicture else {
      skipPart(&events)
      return false
    }
    began = time
    return true
  }

  /// Skips a part that does not begin with a picture. It counts as damaged only if its type allows a picture.
  private mutating func skipPart(_ events: inout [PictureEvent]) {
    strayCount = 0
    scanned = 0
    state = isCalledPicture ? .searching : .skipping
    guard boundary.isUnknown else { return }
    if state == .searching { giveNoPicture(&events) }
    state = .preamble
  }

  /// Whether the part's type is an image type, unspecific, or missing.
  private var isCalledPicture: Bool {
    guard let type = header.contentType?.lowercased(), !type.isEmpty else { return true }
    return type.hasPrefix("image/") || type.contains("octet")
  }

  private func giveNoPicture(_ events: inout [PictureEvent]) {
    events.append(.damaged("a part of type \(header.contentType ?? "unknown") is not a picture"))
  }

  /// Returns where the picture ends, if within `limit` bytes: at its declared length if a JPEG ends there,
  /// otherwise at its own end.
  private mutating func pictureEnd(_ limit: Int) -> Int? {
    if walk == nil, let length = header.contentLength {
      guard length <= limit else { return nil }
      if endsAsPicture(rest.prefix(length)) { return length }
      trustsLength = false
      walk = PictureWalk()
    }
    let bytes = rest.prefix(limit)
    return walk?.end(in: bytes)
  }

  private func endsAsPicture(_ bytes: ArraySlice<UInt8>) -> Bool {
    let padding: Set<UInt8> = [0, UInt8(ascii: "\r"), UInt8(ascii: "\n")]
    var end = bytes.endIndex
    while end > bytes.startIndex, padding.contains(bytes[end - 1]) { end -= 1 }
    return PictureStart.ends.contains { bytes[..<end].suffix($0.count).elementsEqual($0) }
  }

  private func withoutNewline(_ count: Int) -> Int {
    let bytes = rest.prefix(count)
    guard bytes.last == UInt8(ascii: "\n") else { return count }
    return bytes.dropLast().last == UInt8(ascii: "\r") ? count - 2 : count - 1
  }

  private mutating func give(_ count: Int, _ events: inout [PictureEvent]) {
    guard count <= pictureLimit else { return giveTooLarge(&events) }
    guard count > 0, let began else { return }
    events.append(
      .picture(
        ReceivedPicture(bytes: Array(rest.prefix(count)), time: began, serverTime: header.timestamp)))
    self.began = nil
    preambleCount = 0
  }

  private mutating func giveTooLarge(_ events: inout [PictureEvent]) {
    events.append(.damaged("a picture is larger than \(pictureLimit >> 20) MiB"))
    began = nil
  }
}
