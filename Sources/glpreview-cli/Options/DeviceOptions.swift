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
      "The GPU: auto, software, a number from `glpreview devices`, or a path such as /dev/dri/renderD128.",
      valueName: "DEVICE"))
  var gpu = GPUDevice.Choice.automatic
}

extension GPUDevice.Choice: ExpressibleByArgument {
  /// Parses `--gpu`.
  public init?(argument: String) { self.init(argument) }
}
