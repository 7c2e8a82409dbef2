// The room in a file system, for files whose size is not known before they are written.

/// The room in a file system, in bytes.
struct DiskSpace: Sendable, Hashable {
  let total: Double
  /// The bytes that this process may use.
  let free: Double

  /// The room that is left to others: the smaller one of a part of the file system and a number of bytes.
  private static let reservedPart = 0.05
  private static let reservedBytes = Double(256 << 20)

  init(total: Double, free: Double) { (self.total, self.free) = (total, free) }

  /// Reads the room in the file system of an open file; nil if that is not known.
  init?(of file: DiskFile) async {
    guard let space = await file.space() else { return nil }
    self.init(total: space.total, free: space.free)
  }

  /// Whether there is too little room for a large file.
  var isShort: Bool { free < min(total * Self.reservedPart, Self.reservedBytes) }
}
