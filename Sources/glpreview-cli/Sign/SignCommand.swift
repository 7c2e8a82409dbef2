// `glpreview sign`: signs a link to a picture or stream of a service, without asking the service.
import ArgumentParser
import FoundationEssentials
import GLPreview
import GLPreviewServer

struct SignCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign",
    abstract: "Sign a link that shows one picture or stream without a password.",
    discussion: """
      URL is that of a picture or stream of `glpreview serve`, with or without http://HOST; parameters of the view are part of \
      the link and can't be changed later. The key is one of access.link-keys in the service's configuration, or NAME and its \
      secret. Whoever has the link sees what it shows, until it ends or the key is removed (docs/links.md).

      Examples:
        glpreview sign /cameras/door/main.jpg --for 12h --config /etc/glpreview.yaml
        glpreview sign 'https://cams.example.org/cameras/door/main.mjpeg?width=640' --for 30m --key mail --secret-file mail.key

      Exit status: 0 signed, 64 wrong usage or configuration.
      """)

  @Argument(help: ArgumentHelp("The URL, or its path and query.", valueName: "URL"))
  var url: String

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp("How long the link is valid: 30s, 15m, 12h or 7d (default: 1h).", valueName: "TIME"))
  var duration: String?

  @Flag(help: "Sign a link without an end, if the key allows it.")
  var forever = false

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("A configuration file of the service. Repeatable.", valueName: "FILE"))
  var config: [String] = []

  @Option(
    help: ArgumentHelp("The name of the key (default: the first one for the camera).", valueName: "NAME"))
  var key: String?

  @Option(
    help: ArgumentHelp("The file of the key's secret, instead of a configuration.", valueName: "FILE"))
  var secretFile: String?

  func validate() throws {
    guard duration == nil || !forever else { throw ValidationError("--for can't be combined with --forever") }
    guard secretFile == nil || key != nil else { throw ValidationError("--secret-file needs --key NAME") }
    guard secretFile == nil || config.isEmpty else {
      throw ValidationError("--secret-file can't be combined with --config")
    }
  }

  func run() async throws {
    try await ExitStatus.of {
      let (keys, publicURL) = try keys()
      let (base, path) = Self.split(url, at: publicURL)
      do {
        let valid = forever ? nil : try LinkSigner.duration(duration ?? "1h")
        let link = try LinkSigner(keys).sign(path, by: key, for: valid, at: .now)
        try StandardOutput.print(base + link.path)
      } catch let error as ParameterError {
        let hint = keys.isEmpty ? ": give --config FILE, or --key NAME and --secret-file FILE" : ""
        throw UsageError("can't sign the URL: \(error.reason)\(hint)")
      }
    }
  }

  /// Returns the keys, and where links point.
  private func keys() throws -> (keys: [LinkKey], base: PublicURL?) {
    guard let secretFile, let key else {
      let loaded = try ConfigurationLoader(.all, files: config, options: ConfigurationOptions()).load()
      return (loaded.access.linkKeys, loaded.access.publicURL)
    }
    // Only the service knows whether the key signs links without an end.
    do {
      return ([try LinkKey(name: key, secretFile: secretFile, allowsForever: true)], nil)
    } catch let error as ParameterError {
      throw UsageError("--key \(key) --secret-file \(secretFile): \(error.reason)")
    }
  }

  /// Splits a URL into the part before the service's path, and the path with its query.
  private static func split(_ url: String, at known: PublicURL?) -> (base: String, path: String) {
    guard let scheme = url.firstRange(of: "://") else { return (known?.text ?? "", url) }
    let start = url[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex
    let rest = String(url[start...])
    guard let base = PublicURL(String(url[..<start])) else { return ("", url) }
    let prefix = known.map { $0.text.dropFirst(PublicURL.origin(of: $0.text).count) } ?? ""
    guard let known, known.text == base.text + prefix, rest.hasPrefix(prefix + "/") else {
      return (base.text, rest)
    }
    return (known.text, String(rest.dropFirst(prefix.count)))
  }
}
