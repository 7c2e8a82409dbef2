// Who reads a feed, what for, and which pictures are wanted: what a feed knows of the previews and scenes that it serves.
internal import PreviewCore

/// Who reads a source.
struct FeedReader: Sendable {
  /// What it is read for.
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

  /// Whether a part of the source is wanted that is said in pixels of its reference size.
  var isCropped: Bool {
    switch subject {
    case .scene(_, let isCropped): isCropped
    case .preview(let preview): preview.configuration.view?.crop != nil
    }
  }

  /// The size of the pictures as the source stores them; nil where all of it is wanted.
  var wantedSize: Size? {
    switch subject {
    case .scene(let size, _): size
    case .preview(let preview): preview.configuration.view?.wantedSize
    }
  }
}

/// A preview's pictures in one format: drawn once, however many want them.
struct PictureRequest: Sendable, Hashable {
  let preview: Preview
  let format: PictureFormat

  init(_ preview: Preview, _ format: PictureFormat) {
    self.preview = preview
    self.format = format
  }

  /// By name, then by format.
  var order: (String, String) { (preview.name, "\(format)") }

  static func == (one: PictureRequest, other: PictureRequest) -> Bool {
    one.preview === other.preview && one.format == other.format
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(preview))
    hasher.combine(format)
  }
}
