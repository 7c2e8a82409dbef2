// `glpreview lens`: checks the parameters of a lens on a picture, and finds them from straight edges.
import ArgumentParser
import GLPreview
import Glibc

struct LensCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lens",
    abstract: "Check the lens of a camera on one of its pictures, or find it from straight edges.",
    discussion: """
      PICTURE is a JPEG, PNG or other file that `glpreview render` reads, or - for standard input. The report says what the \
      lens claims to show: its centre, fields of view and resolution.

      -o draws that over the picture: the axis, a circle for each 10 degrees from it, the image circle, and how the edges and \
      walls of a cubic room would look. The lens is right if edges that are straight in the scene bend like the drawn ones.

      --line measures it: points on an edge that is straight in the scene, such as a door frame, in pixels of the upright \
      picture. The report says how far they are from the curve of a straight line. --fit changes the lens so that the lines \
      become straight, and prints it for --lens and configurations. Four or more long edges in several directions near the \
      picture's edges, with eight points each, are enough for radius,center. A warning names the parameters that the lines \
      hardly determine. With --line, -o draws the points, and the curve that each line should have.

      Examples:
        glpreview lens ceiling.jpg --lens 'fisheye fov 190' -o grid.jpg
        glpreview lens ceiling.jpg --lens fisheye --line '310,420 280,700 300,980' --line '700,180 990,150 1300,190' --fit radius

      Exit status: 0 done, also with that warning, 64 wrong usage, or lines that would not determine what is fitted with exact \
      points either, 65 bad picture, 66 no such picture, 69 no usable device for -o, 74 write failed.
      """)

  @Argument(help: ArgumentHelp("The picture.", valueName: "PICTURE"))
  var picture: String

  @Option(
    help: ArgumentHelp(
      "Required. The lens, as for `render`: 'fisheye fov 190', 'pinhole matrix FX,FY,CX,CY distortion K1,K2,P1,P2,K3', 'ptlens A,B,C', ...",
      valueName: "LENS"))
  var lens: String?

  @Option(
    help: ArgumentHelp(
      "Points on an edge that is straight in the scene, at least three. Repeatable.",
      valueName: "X,Y X,Y X,Y..."))
  var line: [String] = []

  @Option(
    help: ArgumentHelp(
      "The parameters to find: of a fisheye radius or fov, center, curve, k1 to k4, matrix; of pinhole center, k1 to k3, p1, p2; of ptlens center, a, b, c.",
      valueName: "WORD,..."))
  var fit: String?

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "Draw the lens over the picture, into a file ending in .jpg or .png; - is standard output, as JPEG.",
      valueName: "OUTPUT"))
  var output: String?

  @Flag(help: "Print the report as a line of JSON.")
  var json = false

  @OptionGroup var deviceOptions: DeviceOptions

  func run() async throws {
    try await ExitStatus.of {
      let job = try lensJob()
      try await Interruption.cancelling { try await job.run() }
    }
  }

  /// The most points of all lines, so that a fit takes seconds.
  private static let mostPoints = 2_000

  private func lensJob() throws -> LensJob {
    guard let lens else {
      throw UsageError(
        "--lens is missing: give a model and what is known of it, such as --lens 'fisheye fov 190', --lens pinhole or --lens 'ptlens 0,0,0'"
      )
    }
    guard fit == nil || !line.isEmpty else { throw UsageError("--fit needs --line") }
    let locator = SourceLocator(picture)
    guard !locator.isLive || picture == "-" || locator.kind.origin == .path else {
      throw UsageError(
        "\(locator) is not a picture: take one with glpreview render SOURCE --frames 1 -o picture.jpg")
    }
    let lines = try line.map { try StraightLine(parsing: $0) }
    guard lines.reduce(0, { $0 + $1.points.count }) <= Self.mostPoints else {
      throw UsageError("--line: more than \(Self.mostPoints) points in all")
    }
    return LensJob(
      picture: locator, lens: try Lens(parsing: lens), lines: lines,
      fit: try fit.map { try LensParameter.list(parsing: $0) }, output: try pictureOutput(), isJSON: json,
      gpu: deviceOptions.gpu)
  }

  /// Parses `-o`, which takes pictures alone.
  private func pictureOutput() throws -> RenderOutput? {
    guard let output else { return nil }
    guard !output.hasPrefix("null:") else {
      throw UsageError("-o \(output) would discard the picture: omit -o for the report alone")
    }
    guard output.isEmpty || output == "-" || EncodedPicture.Format(fileName: output) != nil else {
      throw UsageError("-o \(output): the picture's name must end in .jpg or .png")
    }
    return try RenderOutput(output, source: picture, format: nil)
  }
}

/// A run of `glpreview lens` with one picture.
private struct LensJob: Sendable {
  let picture: SourceLocator
  let lens: Lens
  let lines: [StraightLine]
  let fit: [LensParameter]?
  let output: RenderOutput?
  let isJSON: Bool
  let gpu: GPUDevice.Choice

  /// The largest pictures of phones have 200 megapixels.
  private static let mostPixels = 250_000_000

  func run() async throws {
    if output?.takesStandardOutput == true, StandardOutput.isTerminal {
      throw UsageError("-o -: standard output is a terminal; a picture would garble it")
    }
    let frame = try await firstFrame()
    let size = frame.format.uprightSize
    let map = try LensMap(lens, in: size)
    for line in lines { try line.check(in: map) }
    let fitted = try fit.map { try LensFit(lens, $0, to: lines, in: size) }
    let shown = fitted?.lens ?? lens
    let extent = try LensExtent(shown, in: size)
    if let output {
      let layers = try LensDrawing(extent, lines).layers()
      let file = try await drawn(frame, layers, as: output)
      try write(file, to: output)
    }
    let report = LensReport(shown, extent, lines, fitted)
    let text = isJSON ? try report.jsonLine() : report.text
    if output?.takesStandardOutput == true {
      StandardError.print(text)
    } else {
      try StandardOutput.print(text)
    }
    if let fitted { warn(of: fitted.uncertain) }
  }

  private func warn(of uncertain: [LensParameter]) {
    guard !uncertain.isEmpty else { return }
    let advice =
      "correct the points that are worst, add lines near the picture's edges, in several directions, or fit less"
    StandardError.print(
      "glpreview: the lines hardly determine \(LensParameter.text(of: uncertain)): \(advice)")
  }

  private func firstFrame() async throws -> Frame {
    let source = try await picture.open(SourceOptions(maximumPixels: Self.mostPixels))
    guard let frame = try await source.closing({ try await source.nextFrame() }) else {
      throw SourceError(.badData, path: source.name, reason: source.status.lastDamage ?? "has no frames")
    }
    return frame
  }

  private func drawn(
    _ frame: Frame, _ layers: [Layer], as output: RenderOutput
  ) async throws -> EncodedPicture {
    let encoder = PictureEncoder(output.format ?? .jpeg, quality: 90, subsampling: .yuv444)
    let renderer = try await Renderers.open(gpu)
    let pictures: [Picture]
    do {
      let planner = RenderPlanner(tuning: renderer.tuning, maximumPixels: Self.mostPixels)
      let request = ViewRequest(
        ViewConfiguration(name: "lens"), as: encoder.pictureFormat, under: layers)
      pictures = try await renderer.render(frame, planner.plan(frame.format, [request]))
    } catch {
      await renderer.close()
      throw error
    }
    await renderer.close()
    return try encoder.encode(pictures[0], iccProfile: frame.iccProfile)
  }

  private func write(_ file: EncodedPicture, to output: RenderOutput) throws {
    switch output {
    case .files: if let name = output.name(view: "lens", frame: 0) { try file.write(to: name) }
    case .standardOutput: try PictureFile.write(file.bytes, to: STDOUT_FILENO, named: "standard output")
    case .video, .nowhere: break
    }
  }
}
