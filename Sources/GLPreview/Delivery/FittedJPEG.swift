// A picture as a JPEG that has to fit: into a size, into so many bytes.
package import PreviewCore

/// Makes JPEGs of one picture: of less quality, or smaller, where they must be.
package struct FittedJPEG {
  private let picture: Picture
  private let iccProfile: [UInt8]?
  private let quality: Int

  /// What still looks like something: below it a smaller picture shows more.
  package static let lowestQuality = 30
  /// Of pictures that are made smaller to fit.
  package static let qualityOfReduced = 50
  /// No picture is reduced below this length of its longer side.
  package static let smallestSide = 16

  /// `quality` is what is wanted, 1...100.
  package init(_ picture: Picture, iccProfile: [UInt8]? = nil, quality: Int = 80) {
    self.picture = picture
    self.iccProfile = iccProfile
    self.quality = min(max(quality, 1), 100)
  }

  /// Encodes it, up to eight times under a budget.
  ///
  /// - Parameters:
  ///   - maximumBytes: what it may take; nil is no limit.
  ///   - fitting: what it must lie within; nil is no limit.
  ///   - counted: is told of each encode.
  /// - Returns: the file; never larger than it may be.
  /// - Throws: `EncodingError`.
  package func encode(
    maximumBytes: Int? = nil, fitting: Size? = nil, counted: @escaping () -> Void = {}
  ) throws(EncodingError) -> EncodedPicture {
    if let fitting, fitting.width < 1 || fitting.height < 1 {
      throw EncodingError(description: "nothing fits into \(fitting)")
    }
    let planes = PictureScaler(picture.ycbcr)
    let full =
      fitting.map { Placement(of: picture.size, width: $0.width, height: $0.height, mode: .inside).target }
      ?? picture.size
    // A profile that takes most of the room is worth less than the picture.
    let profile = iccProfile.flatMap { $0.count <= (maximumBytes ?? .max) / 4 ? $0 : nil }
    func encode(_ size: Size, _ quality: Int, _ tables: JPEGEncoder.HuffmanTables) throws(CodecError)
      -> EncodedPicture
    {
      counted()
      let encoder = JPEGEncoder(quality: quality, huffmanTables: tables)
      return EncodedPicture(
        bytes: try encoder.encode(planes.scaled(to: size), iccProfile: profile), quality: quality, size: size)
    }
    do throws(CodecError) {
      guard let maximumBytes else { return try encode(full, quality, .standard) }
      // The first in one pass: most budgets are no limit. Whatever follows is worth tables of its own.
      var isFirst = true
      var search = BudgetSearch(budget: maximumBytes) { size, quality throws(CodecError) in
        defer { isFirst = false }
        return try encode(size, quality, isFirst ? .standard : .optimized)
      }
      if let encoded = try best(full, &search) { return encoded }
      throw CodecError(
        .tooLarge,
        "a \(picture.size) picture takes at least \(search.least) bytes, the budget is \(maximumBytes)")
    } catch {
      throw EncodingError(description: error.description)
    }
  }

  /// The best quality; else the largest size; else the smallest size; else nothing.
  private func best(_ full: Size, _ search: inout BudgetSearch) throws(CodecError) -> EncodedPicture? {
    let first = try search.attempt(full, quality)
    guard !search.fits(first) else { return first }
    // Tables of its own save a sixteenth of a photograph, half of a drawing: where that may do, it is seen.
    var size = first.bytes.count / 16 * 15
    if first.bytes.count <= search.budget / 2 * 3 + Self.tables {
      let second = try search.attempt(full, quality)
      guard !search.fits(second) else { return second }
      size = second.bytes.count
    }
    let lowest = min(quality, Self.lowestQuality)
    let enough = search.budget / 20 * 19
    // What no quality brings down that far is not tried at all.
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

  /// What the standard's tables take in a file (T.81, Annex K), and a picture's own mostly don't.
  private static let tables = 350

  /// As steep as sizes fall with quality.
  private static let steepSlope = -1.3
}
