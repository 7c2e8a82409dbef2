// The options for the renderer and its GPU.
public import ArgumentParser
public import GLPreview

/// The GPU, or the reference renderer on the CPU.
enum RendererChoice: String, ExpressibleByArgument, CaseIterable {
  case gpu
  case reference
}

struct DeviceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "What draws: auto (a GPU, else the CPU), hardware, cpu, llvmpipe, an N of `glpreview devices`, or a /dev/dri file.",
      valueName: "DEVICE"))
  var gpu = GPUDevice.Choice.automatic
}

/// The option for what codes JPEGs.
struct JPEGOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "What codes JPEGs, with the same bytes unless they are limited: auto (the CPU, unless a trial shows that a GPU takes half the time), cpu or gpu.",
      valueName: "auto|cpu|gpu"))
  var jpeg = JPEGProcessor.automatic

  /// Comes before a renderer is opened.
  func apply() { JPEGProcessor.chosen = jpeg }
}

extension JPEGProcessor: ExpressibleByArgument {}

extension GPUDevice.Choice: ExpressibleByArgument {
  /// Parses `--gpu`.
  public init?(argument: String) { self.init(argument) }
}
