// The options for live sources (cameras, servers, commands, pipes), and for selecting the frames to render.
public import ArgumentParser
public import GLPreview

struct LiveInputOptions: ParsableArguments {
  @Flag(
    help: """
      Render every frame. If rendering is too slow, a pipe's writer has to wait and a camera drops frames. Without this \
      option, a live source delivers its newest frame; with --frames N, N consecutive frames.
      """)
  var lossless = false

  @Option(
    help: ArgumentHelp(
      "Skip this many frames (10) or seconds (0.5s) before the first picture.", valueName: "N|Ns")
  )
  var warmup = Warmup.none

  @Option(
    help: ArgumentHelp(
      "Minimum time between rendered frames, in seconds (default: every frame).", valueName: "SECONDS"))
  var interval: Double?

  @Option(help: ArgumentHelp("Stop after this many seconds.", valueName: "SECONDS"))
  var duration: Double?

  @Option(
    help: ArgumentHelp(
      "How long to try to reconnect to a lost source, in seconds; 0 ends at once with exit status 69.",
      valueName: "SECONDS"))
  var reconnect = 0.0

  @Option(
    help: ArgumentHelp(
      "Give up if connecting takes longer than this, or if no picture arrives for this long, in seconds. Does not apply to pipes.",
      valueName: "SECONDS"
    ))
  var timeout = 10.0

  @Option(
    help: ArgumentHelp(
      "Set a camera control on opening; `glpreview devices --controls` lists them. Repeatable.",
      valueName: "NAME=VALUE"))
  var control: [String] = []

  @Option(
    help: ArgumentHelp(
      "Add a header field to HTTP requests, such as 'Authorization: Bearer ...'. Repeatable.",
      valueName: "FIELD"))
  var header: [String] = []

  @Option(
    help: ArgumentHelp(
      "Which redirects of HTTP and RTSP servers to follow: same-host, any or none.", valueName: "POLICY"))
  var redirects = SourceOptions.RedirectPolicy.sameHost

  @Option(
    help: ArgumentHelp(
      """
      Which certificate of an https:// or rtsps:// camera to accept: system (signed by an authority of this machine), \
      any, a SHA-256 fingerprint, or a PEM file with the certificate or its authority (default: system; \
      for rtsps:// any, until version 0.3). In a scene, this applies to all such cameras, and NAME=CERTIFICATE to one. Repeatable.
      """, valueName: "CERTIFICATE"))
  var certificate: [String] = []

  func validate() throws {
    for (name, value) in [("interval", interval), ("duration", duration), ("reconnect", reconnect)] {
      guard let value else { continue }
      guard value >= 0, value <= 3e9 else {
        throw ValidationError("--\(name) \(value) is not a number of seconds")
      }
    }
    guard timeout > 0, timeout <= 3e9 else {
      throw ValidationError("--timeout \(timeout) is not above 0")
    }
  }

  /// Copies the options to those of the source; `schedule` selects its frames.
  func apply(to options: inout SourceOptions, _ schedule: FrameSchedule) throws {
    options.live = LiveOptions(
      delivery: delivery(schedule), stallsAfter: min(.seconds(2), .seconds(timeout)),
      reconnectsAfter: .seconds(timeout), connectsWithin: .seconds(timeout),
      givesUpAfter: .seconds(reconnect))
    options.controls = try control.map { text in
      let (name, value) = try halves(text, at: "=", "--control", "NAME=VALUE")
      return CameraControl.Setting(name: name, value: value)
    }
    options.redirects = redirects
    options.headers = try header.map { text in
      let (name, value) = try halves(text, at: ":", "--header", "'NAME: VALUE'")
      return SourceOptions.HeaderField(name: name, value: value)
    }
  }

  /// Returns the certificate setting of a single source, after reading its file.
  static func trust(in certificate: [String]) throws -> CertificateTrust? {
    guard certificate.count < 2 else { throw UsageError("--certificate is given twice") }
    do throws(ParameterError) {
      guard let text = certificate.first else { return nil }
      let trust = try CertificateTrust(parsing: text)
      try trust.checkFile()
      return trust
    } catch {
      throw UsageError("--certificate: \(error.description)")
    }
  }

  /// Returns the delivery: consecutive frames are queued until they are rendered.
  private func delivery(_ schedule: FrameSchedule) -> LiveOptions.Delivery {
    let isRow = schedule.limit ?? 1 > 1 && schedule.interval == nil && schedule.every == 1
    return lossless || isRow ? .every(maximumBytes: 256 << 20) : .newest
  }

  private func halves(_ text: String, at separator: Character, _ option: String, _ form: String) throws -> (
    String, String
  ) {
    guard let index = text.firstIndex(of: separator), index > text.startIndex else {
      // A header's value is secret, and may have been entered instead of its name.
      throw UsageError(separator == ":" ? "\(option) is not \(form)" : "\(option) \(text) is not \(form)")
    }
    let value = text[text.index(after: index)...]
    return (String(text[..<index]), String(separator == ":" ? value.drop { $0 == " " } : value))
  }
}

extension SourceOptions.RedirectPolicy: ExpressibleByArgument {}

extension Warmup: ExpressibleByArgument {
  /// Parses an option's value; nil if it is neither a number of frames nor of seconds.
  public init?(argument: String) { try? self.init(parsing: argument) }

  /// The default in `--help`, in the syntax of the option.
  public var defaultValueDescription: String {
    switch self {
    case .frames(let count): "\(count)"
    case .time(let duration): "\(duration / .seconds(1))s"
    }
  }
}

extension Duration {
  /// Parses seconds such as 0.5 or 60; at most a hundred years.
  init?(_ seconds: some StringProtocol) {
    guard let seconds = Double(seconds), seconds >= 0, seconds <= 3e9 else { return nil }
    self = .seconds(seconds)
  }
}
