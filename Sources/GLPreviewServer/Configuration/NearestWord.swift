// Finds the known word that is closest to an unknown one.

extension [String] {
  /// The word with the fewest letters to add, remove or change; nil if all need too many changes.
  func nearest(to word: String) -> String? {
    // A longer word is no typing mistake, and the cost grows with both lengths.
    guard word.utf8.count <= 64 else { return nil }
    let ranked = map { (word: $0, distance: $0.editDistance(to: word)) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= Swift.max(1, best.word.utf8.count / 2) ? best.word : nil
  }
}

extension String {
  /// The Levenshtein distance in bytes, because keys are ASCII. Ignores case, and treats `_` as `-`.
  fileprivate func editDistance(to other: String) -> Int {
    let (mine, others) = (folded, other.folded)
    var row = Array(0...others.count)
    for (index, byte) in mine.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for (column, otherByte) in others.enumerated() {
        let change = diagonal + (byte == otherByte ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = Swift.min(change, diagonal + 1, row[column] + 1)
      }
    }
    return row[others.count]
  }

  private var folded: [UInt8] { lowercased().utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 } }
}
