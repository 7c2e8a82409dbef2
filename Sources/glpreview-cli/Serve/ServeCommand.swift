// `glpreview serve`: cameras over HTTP, for as long as nobody ends it.
import ArgumentParser
import GLPreview
import GLPreviewServer
import Glibc

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve live previews and snapshots of cameras over HTTP.",
    discussion: """
      Without anything else the embedded test pattern is served at http://127.0.0.1:8080/. With SOURCE that is: the camera \
      is called 'camera', its view 'main' unless --view says others. More cameras, scenes, limits and where snapshots go are \
      in a YAML file (docs/configuration.md); options win over the environment (GLPREVIEW_BIND, \
      GLPREVIEW_CAMERAS_DOOR_SOURCE, ...), that over files, a later file over an earlier one.

        http://127.0.0.1:8080/                          the dashboard
        http://127.0.0.1:8080/cameras/camera/main.mjpeg a live preview
        http://127.0.0.1:8080/cameras/camera/main.jpg   a snapshot; also .png

      An address that other machines get to wants to know who is there: a token, users, or --insecure. Whoever runs `ps` \
      sees the options of a command: secrets are better in GLPREVIEW_TOKEN and GLPREVIEW_USER, or in files that a \
      configuration names (token-file, password-file).

      SIGHUP has the files read again; what did not change keeps running. SIGTERM and SIGINT end it.

      Examples:
        glpreview serve /dev/video0
        glpreview serve rtsp://camera/1 --view main:size=1280x --view face:crop=400x400+760+120,fps=4
        glpreview serve --config /etc/glpreview.yaml --check-config
        GLPREVIEW_TOKEN=... glpreview serve /dev/video0 --bind 0.0.0.0:8080

      Exit status: 0 ended as told, 64 wrong usage or configuration, 69 no usable device, or the address is taken.
      """)

  @Argument(
    help: ArgumentHelp(
      "A camera, address, file, command or pattern, as `glpreview render` takes it.", valueName: "SOURCE"))
  var source: String?

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("A YAML file. Repeatable; later ones win, key by key.", valueName: "FILE"))
  var config: [String] = []

  @Flag(
    help:
      "Tell what is wrong with the configuration, each with its place, or what it comes to; serve nothing.")
  var checkConfig = false

  @OptionGroup(title: "The camera SOURCE") var cameraOptions: ServedCameraOptions
  @OptionGroup(title: "Where it listens, and to whom it answers") var addressOptions: AddressOptions

  @Option(help: ArgumentHelp("How the log is written, on standard error.", valueName: "text|json"))
  var logFormat = LogFormat.text

  @Option(help: ArgumentHelp("How much of it, from trace to critical.", valueName: "LEVEL"))
  var logLevel = LogLevel.info

  @Option(
    help: ArgumentHelp(
      "auto, software, a number of `glpreview devices`, or /dev/dri/renderD128 (default: auto).",
      valueName: "DEVICE"))
  var gpu: String?

  @Flag(help: "Refuse to draw in software.")
  var requireHardware = false

  func run() async throws {
    try await ExitStatus.of {
      // A reload that is asked for before the service runs would end it; what it is about is read now.
      signal(SIGHUP, SIG_IGN)
      let loader = ConfigurationLoader(files: config, options: try options())
      let configuration = try loader.load()
      if checkConfig { return try StandardOutput.print(configuration.configuration.summary) }
      // Who looks may go: that is an error of a write, not a signal.
      signal(SIGPIPE, SIG_IGN)
      let server = PreviewServer(
        configuration, logger: logFormat.logger(level: logLevel), reload: { try loader.load() })
      do {
        try await server.run()
      } catch {
        throw ListenError(error, at: configuration.bind) ?? error
      }
    }
  }

  private func options() throws -> ConfigurationOptions {
    var options = ConfigurationOptions()
    try addressOptions.apply(to: &options)
    options.set(["gpu"], to: gpu, by: "--gpu")
    if requireHardware { options.set(["require-hardware"], to: "true", by: "--require-hardware") }
    try cameraOptions.apply(to: &options, source, hasFiles: !config.isEmpty)
    return options
  }
}

/// What is said of the one camera of a command line; ustreamer's letters mean the same.
struct ServedCameraOptions: ParsableArguments {
  @Option(name: [.short, .long], help: ArgumentHelp("The same as SOURCE.", valueName: "SOURCE"))
  var device: String?

  @Option(
    help: ArgumentHelp(
      "A view: the words of `glpreview render --view`, and fps=N, quality=N, locked=true. Repeatable.",
      valueName: "NAME:KEY=VALUE,..."))
  var view: [String] = []

  @Option(
    name: [.customShort("r"), .long],
    help: ArgumentHelp("What the camera is asked for (default: as much as is looked at).", valueName: "WxH"))
  var resolution: String?

  @Option(
    name: [.customShort("f"), .long, .customLong("desired-fps")],
    help: ArgumentHelp("Pictures a second at most (default: every frame).", valueName: "N"))
  var fps: String?

  @Option(name: [.short, .long], help: ArgumentHelp("JPEG quality, 1...100 (default: 80).", valueName: "N"))
  var quality: String?

  @Option(
    help: ArgumentHelp(
      "Which redirections of its server are followed: same-host, any, none (default: same-host).",
      valueName: "POLICY"))
  var redirects: String?

  /// Without SOURCE and without files there is the test pattern.
  func apply(to options: inout ConfigurationOptions, _ source: String?, hasFiles: Bool) throws {
    guard source == nil || device == nil else { throw UsageError("--device says the same as SOURCE") }
    if let source = source ?? device {
      options.setSource(source, by: device == nil ? "SOURCE" : "--device")
    } else if !hasFiles {
      options.setSource("pattern:counter,fps=30" + (resolution == nil ? ",size=1280x720" : ""))
    }
    for text in view { options.addView(text) }
    options.set(["cameras", ConfigurationOptions.cameraName, "size"], to: resolution, by: "--resolution")
    options.set(["cameras", ConfigurationOptions.cameraName, "redirects"], to: redirects, by: "--redirects")
    options.setForViews("fps", to: fps, by: "--fps")
    options.setForViews("quality", to: quality, by: "--quality")
  }
}

/// Where a service listens, and who may look.
struct AddressOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "HOST:PORT, [ADDRESS]:PORT or unix:PATH (default: 127.0.0.1:8080); port 0 takes a free one.",
      valueName: "ADDRESS"))
  var bind: String?

  @Option(
    name: [.customShort("s"), .long], help: ArgumentHelp("The host of --bind alone.", valueName: "HOST"))
  var host: String?

  @Option(name: [.short, .long], help: ArgumentHelp("The port of --bind alone.", valueName: "PORT"))
  var port: String?

  @Option(
    name: [.customShort("U"), .long], help: ArgumentHelp("The same as --bind unix:PATH.", valueName: "PATH"))
  var unix: String?

  @Flag(help: "Answer everybody, also from other machines.")
  var insecure = false

  @Option(
    help: ArgumentHelp(
      "Who sends 'Authorization: Bearer T' may look and change; better GLPREVIEW_TOKEN.", valueName: "T"))
  var token: String?

  @Option(
    help: ArgumentHelp(
      "Who logs in as NAME may look and change; better GLPREVIEW_USER.", valueName: "NAME:PASSWORD"))
  var user: String?

  @Option(help: ArgumentHelp("Speak HTTPS, with this certificate (PEM) and --tls-key.", valueName: "FILE"))
  var tlsCertificate: String?

  @Option(help: ArgumentHelp("The certificate's key (PEM).", valueName: "FILE"))
  var tlsKey: String?

  func apply(to options: inout ConfigurationOptions) throws {
    let ways = [
      ("--bind", bind != nil), ("--unix", unix != nil), ("--host or --port", host != nil || port != nil),
    ]
    let given = ways.filter(\.1).map(\.0)
    guard given.count < 2 else { throw UsageError("\(given[1]) says the same as \(given[0])") }
    options.set(["bind"], to: bind, by: "--bind")
    options.set(["bind"], to: unix.map { "unix:\($0)" }, by: "--unix")
    if host != nil || port != nil {
      options.set(
        ["bind"], to: "\(bracketed(host ?? "127.0.0.1")):\(port ?? "8080")",
        by: port == nil ? "--host" : "--port")
    }
    if insecure { options.set(["access", "insecure"], to: "true", by: "--insecure") }
    options.set(["token"], to: token, by: "--token")
    options.set(["user"], to: user, by: "--user")
    options.set(["tls", "certificate"], to: tlsCertificate, by: "--tls-certificate")
    options.set(["tls", "key"], to: tlsKey, by: "--tls-key")
  }

  /// ustreamer takes IPv6 without.
  private func bracketed(_ host: String) -> String {
    host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
  }
}

extension ServerConfiguration {
  /// For `--check-config`; without the addresses of cameras, which may contain secrets.
  fileprivate var summary: String {
    func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
    let door =
      access.asksForCredentials
      ? "with \(count(access.tokens.count, "token")) and \(count(access.users.count, "user"))"
      : "without authentication"
    var lines = [
      "configuration OK: \(count(cameras.count, "camera")), \(count(scenes.count, "scene")); listening on \(bind) \(door)"
    ]
    lines += cameras.map { "  \($0.name): \($0.views.map(\.view.name).joined(separator: ", "))" }
    lines += scenes.map { "  \($0.name): a scene of \($0.scene.tiles.map(\.source).joined(separator: ", "))" }
    return lines.joined(separator: "\n")
  }
}
