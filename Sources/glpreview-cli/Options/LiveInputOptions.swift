// What can be said of sources that are live: cameras, servers, commands, pipes.
import ArgumentParser
import GLPreview

struct LiveInputOptions: ParsableArguments {
  @Flag(
    help: """
      Render every frame that comes; what is too slow then slows the writer of a pipe, or makes a camera drop. Without, a \
      live source gives its newest frame, but --frames N gives N that follow one another.
      """)
  var lossless = false

  @Option(
    help: ArgumentHelp("Pass over so many frames, or seconds, before the first: 10, 0.5s.", valueName: "N|Ns")
  )
  var warmup = Warmup.none

  @Option(
    help: ArgumentHelp("From a frame to the next, in seconds (default: every frame).", valueName: "SECONDS"))
  var interval: Double?

  @Option(help: ArgumentHelp("Stop after so many seconds.", valueName: "SECONDS"))
  var duration: Double?

  @Option(
    help: ArgumentHelp(
      "Try for so long to get a lost source back; 0 ends at once, with status 69.", valueName: "SECONDS"))
  var reconnect = 0.0

  @Option(
    help: ArgumentHelp(
      "Give a connection up that takes longer to make, or gives no picture for so long; pipes are waited for.",
      valueName: "SECONDS"
    ))
  var timeout = 10.0

  @Option(
    help: ArgumentHelp(
      "Set a camera's control when it opens; `glpreview devices` lists them. Repeatable.",
      valueName: "NAME=VALUE"))
  var control: [String] = []

  @Option(
    help: ArgumentHelp(
      "A field of HTTP requests: 'Authorization: Bearer ...'. Repeatable.", valueName: "FIELD"))
  var header: [String] = []

  @Option(
    help: ArgumentHelp(
      "Which redirections of HTTP and RTSP servers are followed: same-host, any, none.", valueName: "POLICY"))
  var redirects = RedirectPolicy.sameHost

  func validate() throws {
    for (name, value) in [("interval", interval), ("duration", duration), ("reconnect", reconnect)] {
      guard let value else { continue }
      guard value >= 0, value <= 3e9 else {
        throw ValidationError("--\(name) \(value) is no number of seconds")
      }
    }
    guard timeout > 0, timeout <= 3e9 else {
      throw ValidationError("--timeout \(timeout) is not more than 0")
    }
  }

  /// What a source is told; `schedule` says which of its frames are wanted.
  func apply(to options: inout SourceOptions, _ schedule: FrameSchedule) throws {
    options.live = LiveOptions(
      delivery: delivery(schedule), stallsAfter: min(.seconds(2), .seconds(timeout)),
      reconnectsAfter: .seconds(timeout), connectsWithin: .seconds(timeout),
      givesUpAfter: .seconds(reconnect))
    options.controls = try control.map { text in
      let (name, value) = try halves(text, at: "=", "--control", "NAME=VALUE")
      return CameraControlSetting(name: name, value: value)
    }
    options.redirects = redirects
    options.headers = try header.map { text in
      let (name, value) = try halves(text, at: ":", "--header", "'NAME: VALUE'")
      return HeaderField(name: name, value: value)
    }
  }

  /// Where some frames in a row are wanted, they wait for us.
  private func delivery(_ schedule: FrameSchedule) -> LiveOptions.Delivery {
    let isRow = schedule.limit ?? 1 > 1 && schedule.interval == nil && schedule.every == 1
    return lossless || isRow ? .every(maximumBytes: 256 << 20) : .newest
  }

  private func halves(_ text: String, at separator: Character, _ option: String, _ form: String) throws -> (
    String, String
  ) {
    guard let index = text.firstIndex(of: separator), index > text.startIndex else {
      // A header's value is a secret, and may stand where its name should.
      throw UsageError(separator == ":" ? "\(option) is not \(form)" : "\(option) \(text) is not \(form)")
    }
    let value = text[text.index(after: index)...]
    return (String(text[..<index]), String(separator == ":" ? value.drop { $0 == " " } : value))
  }
}
