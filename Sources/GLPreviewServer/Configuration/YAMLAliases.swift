// Finds aliases before a file is parsed: a few lines of them can stand for more than any memory holds.

enum YAMLAliases {
  /// Where the first `*name` or `&name` stands that YAML would take for an alias or an anchor; nil where there is none.
  ///
  /// It is one where a value or a key can begin, outside quotes and comments. Who writes one so that it is not seen here
  /// is found out by the tree, whose nodes know their anchors.
  static func first(in text: String) -> (line: Int, column: Int)? {
    var (line, column) = (1, 0)
    // What stands before, but for spaces: behind these a value may begin.
    var before: Unicode.Scalar = "\n"
    var previous: Unicode.Scalar = "\n"
    var quote: Unicode.Scalar?
    var (isComment, isEscaped) = (false, false)
    var mark: (line: Int, column: Int)?
    for scalar in text.unicodeScalars {
      column += 1
      if let mark, isName(scalar) { return mark }
      mark = nil
      defer {
        previous = scalar
        if scalar != " ", scalar != "\t", !isComment { before = scalar }
        if scalar == "\n" { (line, column, isComment, before) = (line + 1, 0, false, "\n") }
      }
      if isComment { continue }
      if let open = quote {
        if scalar == open, !isEscaped { quote = nil }
        isEscaped = open == "\"" && scalar == "\\" && !isEscaped
        continue
      }
      let isSpaced = previous == " " || previous == "\t" || previous == "\n"
      guard beginners.contains(before), isSpaced || "[,{".unicodeScalars.contains(previous) else {
        isComment = scalar == "#" && isSpaced
        continue
      }
      switch scalar {
      case "'", "\"": quote = scalar
      case "*", "&": mark = (line, column)
      case "#": isComment = true
      default: break
      }
    }
    return nil
  }

  private static let beginners = Set("\n:-?[,{".unicodeScalars)

  private static func isName(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "_" || scalar == "-"
  }
}
