// Who draws, and on what.
import ArgumentParser
import GLPreview

/// Who draws.
enum RendererChoice: String, ExpressibleByArgument, CaseIterable {
  case gpu
  case reference
}

struct DeviceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "auto, software, a number of `glpreview devices`, or /dev/dri/renderD128.", valueName: "DEVICE"))
  var gpu = GPUChoice.automatic
}
