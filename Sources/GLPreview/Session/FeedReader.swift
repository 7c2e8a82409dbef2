// The readers of a feed: the previews and scenes that it serves, and the sizes that they want.
internal import PreviewCore

struct FeedReader: Sendable {
  /// What the source is read for.
  enum Subject: Sendable {
    case preview(Preview)
    case scene(Size?, isCropped: Bool)
  }

  let subject: Subject
  var count = 0

  init(_ subject: Subject, count: Int = 0) {
    self.subject = subject
    self.count = count
  }

  /// Whether it has a crop, which is in pixels of the source's reference size.
  var isCropped: Bool {
    switch subject {
    case .scene(_, let isCropped): isCropped
    case .preview(let preview): preview.configuration.isCropped
    }
  }

  /// The wanted size in the source's stored orientation; nil if any size will do.
  var wantedSize: Size? {
    switch subject {
    case .scene(let size, _): size
    case .preview(let preview): preview.configuration.view?.wantedSize
    }
  }
}

/// A preview's pictures in one format: drawn once for any number of readers.
struct PictureRequest: Sendable, Hashable {
  let preview: Preview
  let format: Picture.Format

  init(_ preview: Preview, _ format: Picture.Format) {
    self.preview = preview
    self.format = format
  }

  /// Sorts by name, then by format.
  var order: (String, String) { (preview.name, "\(format)") }
}
