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

extension GPUDevice.Choice: ExpressibleByArgument {
  /// Parses `--gpu`.
  public init?(argument: String) { self.init(argument) }
}
