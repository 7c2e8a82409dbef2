// The picture files of a run with several SOURCEs, and the destinations of their pictures, which are checked
// before anything is drawn.
import GLPreview

/// Several picture files, which are rendered separately.
struct Batch {
  /// One of the files.
  struct Item: Sendable {
    let source: String
    /// The number of the file, counted from 1.
    let index: Int
    let output: RenderOutput
  }

  let items: [Item]

  /// Creates the items of `sources`, with a name pattern for their pictures (nil names them after source and
  /// view).
  ///
  /// - Throws: `UsageError` if a source can't be a file, or a picture would overwrite another one or a
  ///   source.
  init(_ sources: [String], output: String?, format: OutputFormat?, _ views: [ViewConfiguration]) throws {
    items = try sources.map { SourceLocator($0).text }.enumerated().map { index, source in
      try Self.checkKind(source)
      let output = try RenderOutput(output, source: source, index: index + 1, format: format)
      if case .video = output { throw UsageError("several SOURCEs are rendered to pictures, not to a video") }
      try output.check(views)
      return Item(source: source, index: index + 1, output: output)
    }
    try checkNames(views)
  }

  private static func checkKind(_ source: String) throws {
    let locator = SourceLocator(source)
    guard locator.kind.origin != .path || locator.isLive else { return }
    throw UsageError(
      "\(locator): several SOURCEs must be picture files; render it alone, or put all into one picture with --scene"
    )
  }

  private func checkNames(_ views: [ViewConfiguration]) throws {
    var written: [String: Item] = [:]
    // Compared by paths with resolved links. A file that is listed twice counts as the later one.
    let read = Dictionary(items.compactMap { item in SystemFiles.resolved(item.source).map { ($0, item) } }) {
      $1
    }
    for item in items {
      guard case .files = item.output else { return }
      for file in views.compactMap({ item.output.name(view: $0.name, frame: 0) }) {
        if let other = written.updateValue(item, forKey: file) {
          throw UsageError(
            "\(other.source) and \(item.source) would both be written to \(file); put {name} or {index} into -o"
          )
        }
        // A file may be overwritten by its own picture, but not by another's before it is read.
        if let other = SystemFiles.resolved(file).flatMap({ read[$0] }), other.index != item.index {
          throw UsageError(
            "\(item.source) would be written to \(file), which is also a SOURCE; choose other names with -o")
        }
      }
    }
  }
}
