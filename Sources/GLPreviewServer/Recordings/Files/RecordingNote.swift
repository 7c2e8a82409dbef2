// The description of a recording in its file, so that what is hidden later can be hidden in it too.
internal import FoundationEssentials
internal import PreviewCore

/// The view that a recording shows, where it shows the camera, and what was hidden when it was made. It is in
/// the file, where players skip it. Recordings of earlier versions have less of it, or nothing.
struct RecordingNote: Sendable, Hashable {
  /// The locked view that it shows; nil if the view was not locked, or if that is unknown.
  var locked: Recording.LockedView?
  /// Where its pictures show the camera; nil if that is unknown.
  var geometry: ViewGeometry?
  /// The camera's upright reference size, where the geometry is unknown: views that are warped, or blur their bars,
  /// have none. Nil if it is unknown, or in the geometry.
  var reference: Size?
  /// The masks that were burned in; nil if they are unknown.
  var masks: [PrivacyMask]?

  /// The most bytes of a note. Masks that do not fit are left out, and unknown then.
  private static let mostBytes = MP4Recording.longestNote
  private static let prefix = Array("glpreview ".utf8)

  /// The form in the file.
  private struct Form: Codable {
    var locked: String?
    var reference: [Int]?
    var size: [Int]?
    var map: [Double]?
    var reach: Int?
    var masks: [String]?
    /// The time of the first picture, in microseconds since 1970.
    var start: Int?
  }

  /// The bytes in the file of a recording that starts at `start`.
  func bytes(start: WallTime) -> [UInt8] {
    var form = Form(locked: locked?.text, start: Self.microseconds(start.sinceEpoch))
    if let geometry {
      let map = geometry.map
      form.reference = [geometry.reference.width, geometry.reference.height]
      form.size = [geometry.size.width, geometry.size.height]
      form.map = [map.a, map.b, map.c, map.d, map.tx, map.ty]
      form.reach = geometry.reach
    } else if let reference {
      form.reference = [reference.width, reference.height]
    }
    form.masks = masks?.map(\.description)
    if let bytes = Self.bytes(of: form), bytes.count <= Self.mostBytes { return bytes }
    form.masks = nil
    return Self.bytes(of: form) ?? []
  }

  private static func microseconds(_ time: Duration) -> Int {
    let (seconds, attoseconds) = time.components
    return Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
  }

  private static func bytes(of form: Form) -> [UInt8]? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return (try? encoder.encode(form)).map { prefix + Array($0) }
  }

  /// Reads a file's bytes.
  ///
  /// - Returns: the note, and the time of the first picture if that is known; nil if the bytes are not a note.
  static func read(_ bytes: [UInt8]) -> (note: RecordingNote, start: WallTime?)? {
    if let locked = Recording.LockedView(earlierNote: bytes) { return (RecordingNote(locked: locked), nil) }
    guard bytes.starts(with: prefix),
      let form = try? JSONDecoder().decode(Form.self, from: Data(bytes.dropFirst(prefix.count)))
    else { return nil }
    var note = RecordingNote(locked: form.locked.map(Recording.LockedView.init(text:)))
    note.geometry = geometry(of: form)
    note.reference = reference(of: form)
    // A mask that this version does not understand makes all of them unknown.
    note.masks = form.masks.flatMap { try? $0.map { try PrivacyMask(parsing: $0) } }
    let start = form.start.flatMap { (0...Int(1e17)).contains($0) ? $0 : nil }
    return (note, start.map { WallTime(sinceEpoch: .microseconds($0)) })
  }

  /// Returns the reference size of a note without a geometry.
  private static func reference(of form: Form) -> Size? {
    guard form.size == nil, form.map == nil, let sides = form.reference, sides.count == 2,
      sides.allSatisfy({ (1...Size.maximumSide).contains($0) })
    else { return nil }
    return Size(width: sides[0], height: sides[1])
  }

  private static func geometry(of form: Form) -> ViewGeometry? {
    guard let reference = form.reference, let size = form.size, let map = form.map, reference.count == 2,
      size.count == 2, map.count == 6
    else { return nil }
    return ViewGeometry(
      reference: Size(width: reference[0], height: reference[1]), size: Size(width: size[0], height: size[1]),
      map: AffineTransform(a: map[0], b: map[1], c: map[2], d: map[3], tx: map[4], ty: map[5]),
      reach: form.reach ?? ViewGeometry.longestReach)
  }
}

extension RecordingNote {
  /// The part of a recording that the role `read` may see, and the masks that pictures of it get.
  enum Showing: Sendable, Hashable {
    /// Everyone may see it as it is.
    case whole
    /// Pictures get these masks. The file itself shows what they hide, and needs the role `control`.
    case masked([PrivacyMask], ViewGeometry)
    /// All of it needs the role `control`, because the place of something that is hidden now is unknown.
    case hidden
  }

  /// The camera's upright reference size when it was recorded; nil if it is unknown.
  var knownReference: Size? { geometry?.reference ?? reference }

  /// Returns what the masks of now leave of a recording; `reference` is the camera's upright reference size,
  /// in whose pixels they are, if it is known.
  func showing(under masks: [PrivacyMask], reference: Size?) -> Showing {
    let isSame = knownReference == nil || knownReference == reference
    let missing = isSame ? masks.filter { self.masks?.contains($0) != true } : masks
    guard !missing.isEmpty else { return .whole }
    guard let geometry, geometry.reference == reference else { return .hidden }
    return .masked(missing, geometry)
  }
}
