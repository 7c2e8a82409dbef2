// `glpreview serve`: serves cameras over HTTP until it is stopped.
public import ArgumentParser
import GLPreview
package import GLPreviewServer
import Glibc
public import Logging

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve live previews and snapshots of cameras over HTTP.",
    discussion: """
      Without arguments, serves the embedded test pattern at http://127.0.0.1:8080/. With SOURCE, serves that source as \
      the camera 'camera' with the view 'main', or with the views of --view. A YAML file configures more cameras, scenes, \
      limits and snapshot folders (docs/configuration.md). Options override the environment (GLPREVIEW_BIND, \
      GLPREVIEW_CAMERAS_DOOR_SOURCE, ...), which overrides files; later files override earlier ones.

        http://127.0.0.1:8080/                          the dashboard
        http://127.0.0.1:8080/cameras/camera/main.mjpeg a live preview
        http://127.0.0.1:8080/cameras/camera/main.jpg   a snapshot; also .png
        http://127.0.0.1:8080/cameras/camera/main.m3u8  a live preview for HLS players

      An address that other machines can reach requires a token, users, or --insecure. Command-line options are visible \
      in `ps`, so put secrets in GLPREVIEW_TOKEN and GLPREVIEW_USER, or in files named by the configuration (token-file, \
      password-file).

      SIGHUP reloads the files; unchanged cameras keep running. SIGTERM and SIGINT stop the service.

      Examples:
        glpreview serve /dev/video0
        glpreview serve rtsp://camera/1 --view main:size=1280x --view face:crop=400x400+760+120,fps=4
        glpreview serve --config /etc/glpreview.yaml --check-config
        GLPREVIEW_TOKEN=... glpreview serve /dev/video0 --bind 0.0.0.0:8080

      Exit status: 0 stopped by a signal, 64 wrong usage or configuration, 69 no usable device, or the address is in use.
      """)

  @Argument(
    help: ArgumentHelp(
      "A camera, URL, file, command or pattern, as for `glpreview render`.", valueName: "SOURCE"))
  var source: String?

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "A YAML configuration file. Repeatable; each key of a later file overrides earlier ones.",
      valueName: "FILE"))
  var config: [String] = []

  @Flag(help: "Check the configuration: print its errors with their places, or a summary, and exit.")
  var checkConfig = false

  @OptionGroup(title: "The camera") var cameraOptions: ServedCameraOptions
  @OptionGroup(title: "Address and access") var addressOptions: AddressOptions

  @Option(help: ArgumentHelp("The format of the log on standard error.", valueName: "text|json"))
  var logFormat = LogFormat.text

  @Option(help: ArgumentHelp("The least severe level to log, from trace to critical.", valueName: "LEVEL"))
  var logLevel = Logger.Level.info

  @Option(
    help: ArgumentHelp(
      "The GPU: auto, software, a number from `glpreview devices`, or a path such as /dev/dri/renderD128 (default: auto).",
      valueName: "DEVICE"))
  var gpu: String?

  @Option(
    help: ArgumentHelp(
      "What codes JPEGs, as for `glpreview render` (default: auto).", valueName: "auto|cpu|gpu"))
  var jpeg: String?

  @Flag(help: "Fail instead of rendering in software.")
  var requireHardware = false

  func run() async throws {
    try await ExitStatus.of {
      let loader = ConfigurationLoader(.all, files: config, options: try options())
      // Comes before reading the files, so that a SIGHUP is not lost if they change meanwhile.
      let reload = await ConfigurationReload { try loader.load() }
      let configuration = try loader.load()
      if checkConfig { return try StandardOutput.print(configuration.configuration.summary) }
      // If a client disconnects, a write error is thrown instead of a signal.
      signal(SIGPIPE, SIG_IGN)
      let server = PreviewServer(
        configuration, logger: logFormat.logger(level: logLevel), reload: reload)
      server.adoptTimeZone()
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
    options.set(["jpeg"], to: jpeg, by: "--jpeg")
    if requireHardware { options.set(["require-hardware"], to: "true", by: "--require-hardware") }
    try cameraOptions.apply(to: &options, source, hasFiles: !config.isEmpty)
    return options
  }
}

extension LogFormat: ExpressibleByArgument {}
extension Logger.Level: @retroactive ExpressibleByArgument {}

/// The options for the single camera of a command line. Single letters have the same meaning as in ustreamer.
struct ServedCameraOptions: ParsableArguments {
  @Option(name: [.short, .long], help: ArgumentHelp("The same as SOURCE.", valueName: "SOURCE"))
  var device: String?

  @Option(
    help: ArgumentHelp(
      "A view: the keys of `glpreview render --view`, and fps=N, quality=N, locked=true. Repeatable.",
      valueName: "NAME:KEY=VALUE,..."))
  var view: [String] = []

  @Option(
    name: [.customShort("r"), .long],
    help: ArgumentHelp("The camera's capture size (default: the size that its views need).", valueName: "WxH")
  )
  var resolution: String?

  @Option(
    name: [.customShort("f"), .long, .customLong("desired-fps")],
    help: ArgumentHelp("Maximum frames per second (default: every frame).", valueName: "N"))
  var fps: String?

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "JPEG quality, 1...100 (default: 80, or an MJPEG camera's original JPEGs where a view does not change them).",
      valueName: "N"))
  var quality: String?

  @Option(
    help: ArgumentHelp(
      "Which redirects of its server to follow: same-host, any or none (default: same-host).",
      valueName: "POLICY"))
  var redirects: String?

  @Option(
    help: ArgumentHelp(
      "Which certificate of its server to accept: system, any, a SHA-256 fingerprint, or a PEM file (default: system; for rtsps:// any, until version 0.3).",
      valueName: "CERTIFICATE"))
  var certificate: String?

  @Option(
    help: ArgumentHelp(
      "Its lens, for views with a projection, as for `glpreview render`: 'fisheye fov 190', for example.",
      valueName: "LENS"))
  var lens: String?

  /// Applies the options. Without SOURCE and files, the source is the test pattern.
  func apply(to options: inout ConfigurationOptions, _ source: String?, hasFiles: Bool) throws {
    guard source == nil || device == nil else { throw UsageError("--device can't be combined with SOURCE") }
    if let source = source ?? device {
      options.setSource(source, by: device == nil ? "SOURCE" : "--device")
    } else if !hasFiles {
      options.setSource("pattern:counter,fps=30" + (resolution == nil ? ",size=1280x720" : ""))
    }
    for text in view { options.addView(text) }
    options.set(["cameras", ConfigurationOptions.cameraName, "size"], to: resolution, by: "--resolution")
    options.set(["cameras", ConfigurationOptions.cameraName, "redirects"], to: redirects, by: "--redirects")
    options.set(
      ["cameras", ConfigurationOptions.cameraName, "certificate"], to: certificate, by: "--certificate")
    options.set(["cameras", ConfigurationOptions.cameraName, "lens"], to: lens, by: "--lens")
    options.setForViews("fps", to: fps, by: "--fps")
    options.setForViews("quality", to: quality, by: "--quality")
  }
}

/// The address of the service, and its access rules.
struct AddressOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The address to listen on: HOST:PORT, [ADDRESS]:PORT or unix:PATH (default: 127.0.0.1:8080); port 0 selects a free port.",
      valueName: "ADDRESS"))
  var bind: String?

  @Option(
    name: [.customShort("s"), .long], help: ArgumentHelp("Only the host of --bind.", valueName: "HOST"))
  var host: String?

  @Option(name: [.short, .long], help: ArgumentHelp("Only the port of --bind.", valueName: "PORT"))
  var port: String?

  @Option(
    name: [.customShort("U"), .long], help: ArgumentHelp("The same as --bind unix:PATH.", valueName: "PATH"))
  var unix: String?

  @Flag(help: "Serve without authentication, even to other machines.")
  var insecure = false

  @Option(
    help: ArgumentHelp(
      "A token ('Authorization: Bearer T') that allows viewing and changing; prefer GLPREVIEW_TOKEN.",
      valueName: "T"))
  var token: String?

  @Option(
    help: ArgumentHelp(
      "A login that allows viewing and changing; prefer GLPREVIEW_USER.", valueName: "NAME:PASSWORD"))
  var user: String?

  @Option(
    help: ArgumentHelp("Serve HTTPS with this certificate (PEM); requires --tls-key.", valueName: "FILE"))
  var tlsCertificate: String?

  @Option(help: ArgumentHelp("The certificate's private key (PEM).", valueName: "FILE"))
  var tlsKey: String?

  func apply(to options: inout ConfigurationOptions) throws {
    let ways = [
      ("--bind", bind != nil), ("--unix", unix != nil), ("--host or --port", host != nil || port != nil),
    ]
    let given = ways.filter(\.1).map(\.0)
    guard given.count < 2 else { throw UsageError("\(given[1]) can't be combined with \(given[0])") }
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

  /// Adds brackets to an IPv6 address, because ustreamer accepts them without.
  private func bracketed(_ host: String) -> String {
    host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
  }
}

extension ServerConfiguration {
  /// The summary of `--check-config`, without camera addresses, which may contain secrets.
  fileprivate var summary: String {
    func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
    func megabytes(_ bytes: Int) -> String { "\((Double(bytes) / 1e6).shortText) MB" }
    let door =
      access.asksForCredentials
      ? "with \(count(access.tokens.count, "token")) and \(count(access.users.count, "user"))"
      : "without authentication"
    var lines = [
      "configuration OK: \(count(cameras.count, "camera")), \(count(scenes.count, "scene")); listening on \(bind) \(door)"
    ]
    lines += cameras.map { "  \($0.name): \($0.views.map(\.view.name).joined(separator: ", "))" }
    let keeping = cameras.filter { $0.replay != nil }
    lines += keeping.map { camera in
      let seconds = ((camera.replayDuration ?? .zero) / .seconds(1)).shortText
      return
        "  \(camera.name): buffers its last \(seconds) s of pictures for replay, up to \(megabytes(camera.replayBytes)) of memory, and stays open"
    }
    if keeping.count > 1 {
      lines.append("  in total up to \(megabytes(keeping.map(\.replayBytes).reduce(0, +))) for replay")
    }
    if !cluster.peers.isEmpty { lines.append("  and the cameras of \(count(cluster.peers.count, "peer"))") }
    lines += scenes.map { "  \($0.name): a scene of \($0.scene.tiles.map(\.source).joined(separator: ", "))" }
    return lines.joined(separator: "\n")
  }
}
