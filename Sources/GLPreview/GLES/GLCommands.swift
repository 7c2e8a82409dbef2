// The command stream as a whole.
internal import CGLES

enum GLCommands {
  /// Waits until the GPU has executed all commands. For measurements only, never while serving pictures.
  static func finish() { glFinish() }
}
