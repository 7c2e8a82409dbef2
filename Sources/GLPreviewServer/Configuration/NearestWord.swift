// Which known word is meant by one that is not known.

extension [String] {
  /// The word that takes the fewest letters to be added, left out or changed; nil where all take too many.
  func nearest(to word: String) -> String? {
    // Nobody mistypes so much, and the work grows with both lengths.
    guard word.utf8.count <= 64 else { return nil }
    let ranked = map { (word: $0, distance: $0.editDistance(to: word)) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= Swift.max(1, best.word.utf8.count / 2) ? best.word : nil
  }
}

extension String {
  /// After Levenshtein, in bytes: keys are ASCII. Capitals and `_` for `-` count as nothing.
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
