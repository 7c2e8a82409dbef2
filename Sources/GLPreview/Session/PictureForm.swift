// The form in which a reader takes pictures, and what it needs of each.

/// The form in which a reader takes pictures: their samples, or only a file of them.
package struct PictureForm: Sendable, Hashable {
  /// The format of the samples.
  package let format: Picture.Format
  /// The JPEG that the reader makes of them, if it makes nothing else: a renderer that codes pictures need then not give samples.
  package var coding: PictureCoding?

  package init(_ format: Picture.Format, coding: PictureCoding? = nil) {
    (self.format, self.coding) = (format, coding)
  }

  /// Whether a picture of `format` is in this form, too.
  func accepts(_ picture: Picture) -> Bool {
    if !picture.planes.isEmpty { return true }
    guard let coding, !coding.keepsSamples else { return false }
    return picture.scan?.quality == coding.quality
  }
}

extension [PictureForm] {
  /// How to draw one picture for all readers; they are of one format.
  var sharedCoding: PictureCoding? {
    let codings = Set(compactMap(\.coding))
    guard let first = codings.first, codings.count == 1 else { return nil }
    return PictureCoding(
      quality: first.quality, keepsSamples: first.keepsSamples || contains { $0.coding == nil },
      maximumBytes: first.maximumBytes)
  }
}
