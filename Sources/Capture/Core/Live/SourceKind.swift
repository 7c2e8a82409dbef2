// A kind of source: how its names are recognised, what it can do, and how it is opened. Each folder and
// target of sources declares its kinds, and `SourceKinds` lists them.

/// A kind of source.
package struct SourceKind: Sendable {
  /// The origin of the pictures of a kind.
  package enum Origin: Sendable {
    /// A server that every machine on the network can reach.
    case network
    /// A port of this machine, to which another machine sends.
    case port
    /// A device of this machine, or its standard input.
    case device
    /// A path, relative to the working directory.
    case path
    /// A program that this process starts.
    case command
    /// Endless computed frames.
    case generated
  }

  /// An option that a source does not support.
  package struct Refusal: Sendable {
    /// The option's key: `certificate`
    package let option: String
    /// The reason why it is not supported.
    package let reason: String

    package init(option: String, reason: String) { (self.option, self.reason) = (option, reason) }
  }

  /// An opened source.
  package enum Opened {
    /// A device that is not connected yet. `LiveSource` connects to it and masks its frames.
    case device(any CaptureDevice)
    /// A source that is not live and whose frames are not masked yet.
    case source(any FrameSource)
  }

  /// The URL schemes of this kind, in lower case.
  package let schemes: [String]
  /// The scheme whose servers present a certificate; nil if there is none.
  package let certifiedScheme: String?
  /// The origin of its pictures.
  package let origin: Origin
  /// Whether a name may end in `,size=640x480,fps=15`.
  package let takesMode: Bool
  /// Whether a source has several sizes, of which `SourceOptions.Demand` selects one.
  package let hasSizes: Bool
  /// Whether each picture is requested individually.
  package let isPolled: Bool
  /// Whether a name is of this kind without having any of the schemes.
  package let isNamed: @Sendable (String) -> Bool
  /// Returns the source's name for the text as entered.
  package let name: @Sendable (String) -> String
  /// Whether frames arrive at their own pace.
  package let isLive: @Sendable (String) -> Bool
  /// The name of picture files, without folder and extension; nil takes it from the source's path.
  package let fileStem: @Sendable (String) -> String?
  /// The first option that a source does not support, apart from a certificate where there is no
  /// `certifiedScheme`.
  package let refusal: @Sendable (String, SourceOptions) -> Refusal?
  /// A warning for users before the source is opened.
  package let warning: @Sendable (String, SourceOptions) -> String?
  /// Opens a source. For a live source, throws only `.badRequest`.
  package let open: @Sendable (String, SourceOptions) async throws -> Opened

  package init(
    schemes: [String] = [], certifiedScheme: String? = nil, origin: Origin, takesMode: Bool = false,
    hasSizes: Bool = false, isPolled: Bool = false,
    isNamed: @escaping @Sendable (String) -> Bool = { _ in false },
    name: @escaping @Sendable (String) -> String = { $0 },
    isLive: @escaping @Sendable (String) -> Bool = { _ in true },
    fileStem: @escaping @Sendable (String) -> String? = { _ in nil },
    refusal: @escaping @Sendable (String, SourceOptions) -> Refusal? = { _, _ in nil },
    warning: @escaping @Sendable (String, SourceOptions) -> String? = { _, _ in nil },
    open: @escaping @Sendable (String, SourceOptions) async throws -> Opened
  ) {
    (self.schemes, self.certifiedScheme, self.origin) = (schemes, certifiedScheme, origin)
    (self.takesMode, self.hasSizes, self.isPolled) = (takesMode, hasSizes, isPolled)
    (self.isNamed, self.name, self.isLive, self.fileStem) = (isNamed, name, isLive, fileStem)
    (self.refusal, self.warning, self.open) = (refusal, warning, open)
  }

  /// Returns a kind that this build can't open; opening one throws `reason`.
  package static func missing(
    _ schemes: [String], certified: String? = nil, origin: Origin = .network, _ reason: String
  ) -> SourceKind {
    SourceKind(schemes: schemes, certifiedScheme: certified, origin: origin) { text, _ in
      throw SourceError(.badRequest, path: text, reason: reason)
    }
  }

  /// Returns whether a text names a source of this kind.
  package func recognizes(_ text: String) -> Bool {
    Self.scheme(of: text).map(schemes.contains) == true || isNamed(text)
  }

  /// Returns whether the server of an address presents a certificate.
  package func isCertified(_ text: String) -> Bool {
    certifiedScheme != nil && certifiedScheme == Self.scheme(of: text)
  }

  /// Returns the text before the first colon, in lower case.
  package static func scheme(of text: String) -> String? {
    text.firstIndex(of: ":").map { text[..<$0].lowercased() }
  }
}
