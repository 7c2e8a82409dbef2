// The byte range that a request asks for.

/// The value of a `Range` field, for a file of known size.
package enum ByteRange: Hashable {
  case part(Range<Int>)
  /// Several ranges, or another unit: the server may answer with the whole file.
  case whole
  case unsatisfiable

  package init(_ field: String, of size: Int) {
    self = .whole
    guard field.lowercased().hasPrefix("bytes="), !field.contains(",") else { return }
    let ends = field.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2 else { return }
    let (first, last) = (ends[0].trimmed, ends[1].trimmed)
    let numbers = [first, last].map { text in
      text.utf8.allSatisfy { (0x30...0x39).contains($0) } && text.count < 19 ? Int(text) : nil
    }
    switch (first.isEmpty, last.isEmpty) {
    case (true, true): return
    case (true, false):
      guard let count = numbers[1] else { return }
      self = count == 0 || size == 0 ? .unsatisfiable : .part(max(size - count, 0)..<size)
    case (false, _):
      guard let begin = numbers[0], last.isEmpty || numbers[1].map({ $0 >= begin }) == true else { return }
      self = begin >= size ? .unsatisfiable : .part(begin..<min(numbers[1].map { $0 + 1 } ?? size, size))
    }
  }
}
