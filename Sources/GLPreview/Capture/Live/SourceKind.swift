// A kind of source: how its names are recognised, what it can do, and how it is opened. Each folder beside this one declares its
// own kinds, and `SourceKinds` lists them.

/// A kind of source.
package struct SourceKind: Sendable {
  /// Where the pictures of a kind come from.
  package enum Origin: Sendable {
    /// A server, which each machine of the network can reach.
    case network
    /// A port of this machine, to which another machine sends.
    case port
    /// A device of this machine, or its standard input.
    case device
    /// A path, relative to the working folder.
    case path
    /// A program that this process starts.
    case command
    /// Frames are computed, without an end.
    case generated
  }

  /// An option that a source does not take.
  package struct Refusal: Sendable {
    /// The option's key: `certificate`
    package let option: String
    /// Why it is not taken.
    package let reason: String
  }

  /// An opened source.
  enum Opened {
    /// Not connected yet; `LiveSource` connects to it and masks its frames.
    case device(any CaptureDevice)
    /// A source that is not live, and without masks.
    case source(any FrameSource)
  }

  /// The schemes of its addresses, in lower case.
  var schemes: [String] = []
  /// The scheme whose servers show a certificate; nil if there is none.
  var certifiedScheme: String?
  /// Where its pictures come from.
  package let origin: Origin
  /// Whether a name may end in `,size=640x480,fps=15`.
  package var takesMode = false
  /// Whether a source has several sizes, of which `SourceOptions.Demand` selects one.
  package var hasSizes = false
  /// Whether a source is asked for each picture.
  package var isPolled = false
  /// Whether a name without any of the schemes is of this kind.
  var isNamed: @Sendable (String) -> Bool = { _ in false }
  /// The name that the text stands for.
  var name: @Sendable (String) -> String = { $0 }
  /// Whether frames arrive on their own.
  var isLive: @Sendable (String) -> Bool = { _ in true }
  /// The name of picture files without folder and ending; nil takes it from the source's path.
  package var fileStem: @Sendable (String) -> String? = { _ in nil }
  /// The first option that a source does not take, besides a certificate without `certifiedScheme`.
  var refusal: @Sendable (String, SourceOptions) -> Refusal? = { _, _ in nil }
  /// A warning for users before the source is opened.
  var warning: @Sendable (String, SourceOptions) -> String? = { _, _ in nil }
  /// Opens a source. Of live ones, throws only `.badRequest`.
  let open: @Sendable (String, SourceOptions) async throws -> Opened

  /// Whether a text is the name of a source of this kind.
  func recognizes(_ text: String) -> Bool {
    Self.scheme(of: text).map(schemes.contains) == true || isNamed(text)
  }

  /// Whether the server of an address shows a certificate.
  func isCertified(_ text: String) -> Bool {
    certifiedScheme != nil && certifiedScheme == Self.scheme(of: text)
  }

  /// The text before the first colon, in lower case.
  static func scheme(of text: String) -> String? {
    text.firstIndex(of: ":").map { text[..<$0].lowercased() }
  }
}
