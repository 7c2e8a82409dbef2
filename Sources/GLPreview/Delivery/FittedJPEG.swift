// Encodes a picture as a JPEG within a size and a byte budget.

/// Encodes one picture as JPEG, at a lower quality or a smaller size if the limits require it.
package struct FittedJPEG {
  private let picture: Picture
  private let iccProfile: [UInt8]?
  private let time: WallTime?
  private let quality: Int

  /// The lowest useful quality.
  package static let lowestQuality = PictureCoding.lowestQuality
  /// The quality of pictures made smaller to fit.
  package static let qualityOfReduced = 50
  /// Pictures are not reduced below this length of the longer side, in pixels.
  package static let smallestSide = 16

  /// `quality` is the highest quality to use, 1...100; the capture time is for EXIF.
  package init(
    _ picture: Picture, iccProfile: [UInt8]? = nil, capturedAt time: WallTime? = nil, quality: Int = 80
  ) {
    self.picture = picture
    self.iccProfile = iccProfile
    self.time = time
    self.quality = min(max(quality, 1), 100)
  }

  /// Encodes the picture within a byte budget and a size; with a budget, in up to eight attempts. `counted`
  /// is called for each attempt.
  package func encode(
    maximumBytes: Int? = nil, fitting: Size? = nil, counted: @escaping () -> Void = {}
  ) throws(PictureEncoder.Failure) -> EncodedPicture {
    if let fitting, fitting.width < 1 || fitting.height < 1 {
      throw PictureEncoder.Failure(description: "no JPEG fits into \(fitting)")
    }
    // Without samples, its size and quality are those that were asked for.
    let (scan, planes) = (picture.scan, picture.planes.isEmpty ? nil : PictureScaler(picture.ycbcr))
    let full =
      fitting.map { Placement(of: picture.size, width: $0.width, height: $0.height, mode: .inside).target }
      ?? picture.size
    // Drop a profile that would take more than a quarter of the budget, and the time in a tiny file.
    let profile = iccProfile.flatMap { $0.count <= (maximumBytes ?? .max) / 4 ? $0 : nil }
    let time = maximumBytes ?? .max < PictureCoding.leastBytesWithEXIF ? nil : time
    func encode(_ size: Size, _ quality: Int, _ tables: JPEGEncoder.HuffmanTables) throws(CodecError)
      -> EncodedPicture
    {
      counted()
      let encoder = JPEGEncoder(quality: quality, huffmanTables: tables)
      let bytes: [UInt8]
      if let scan, (size, quality, tables) == (picture.size, scan.quality, .standard) {
        bytes = try encoder.wrap(scan, of: picture, iccProfile: profile, capturedAt: time)
      } else {
        let samples = planes?.scaled(to: size) ?? picture
        bytes = try encoder.encode(samples, iccProfile: profile, capturedAt: time)
      }
      return EncodedPicture(bytes: bytes, quality: quality, size: size)
    }
    do throws(CodecError) {
      guard let maximumBytes else { return try encode(full, quality, .standard) }
      // A renderer may have searched the quality.
      if let scan, scan.maximumBytes == maximumBytes, scan.quality <= quality, full == picture.size {
        let encoded = try encode(full, scan.quality, .standard)
        let isEnough = scan.quality == quality || encoded.bytes.count >= maximumBytes / 20 * 19
        if isEnough, encoded.bytes.count <= maximumBytes { return encoded }
      }
      // The first attempt takes one pass, because most budgets are generous. Later ones use optimised tables.
      var isFirst = true
      var search = BudgetSearch(budget: maximumBytes) { size, quality throws(CodecError) in
        defer { isFirst = false }
        return try encode(size, quality, isFirst ? .standard : .optimized)
      }
      if let encoded = try best(full, &search) { return encoded }
      throw CodecError.overBudget(picture.size, search.least, maximumBytes)
    } catch {
      throw PictureEncoder.Failure(description: error.description)
    }
  }

  /// Prefers the best quality, then the largest size, then the smallest size; nil if nothing fits.
  private func best(_ full: Size, _ search: inout BudgetSearch) throws(CodecError) -> EncodedPicture? {
    let first = try search.attempt(full, quality)
    guard !search.fits(first) else { return first }
    // Optimised tables save about a sixteenth of a photograph and half of a drawing. Try them if that may
    // suffice.
    var size = first.bytes.count / 16 * 15
    if first.bytes.count <= search.budget / 2 * 3 + Self.tables {
      let second = try search.attempt(full, quality)
      guard !search.fits(second) else { return second }
      size = second.bytes.count
    }
    let lowest = min(quality, Self.lowestQuality)
    let enough = search.budget / 20 * 19
    // Skip the search if even the lowest quality is unlikely to fit.
    if lowest < quality,
      BudgetSearch.bytes(size, at: quality, wouldBeAt: lowest, slope: Self.steepSlope) <= search.budget,
      let found = try search.bestQuality(
        of: full, in: lowest...quality - 1, beyond: (quality, size), enough: enough, keeping: 4)
    {
      return found
    }
    let reduced = min(quality, Self.qualityOfReduced)
    let smallest = full.reduced(toSide: min(Self.smallestSide, max(full.width, full.height)))
    let estimate = BudgetSearch.bytes(size, at: quality, wouldBeAt: reduced)
    if let found = try search.largestSize(
      of: full, above: smallest, quality: reduced, estimate: estimate, enough: enough / 20 * 19)
    {
      return found
    }
    guard search.remaining > 0 else { return nil }
    let last = try search.attempt(smallest, lowest)
    return search.fits(last) ? last : nil
  }

  /// The bytes of the standard Huffman tables (T.81, Annex K), most of which optimised tables save.
  private static let tables = 350

  private static let steepSlope = -1.3
}
