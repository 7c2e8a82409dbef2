// The command stream as a whole.
internal import CGLES

enum GLPipeline {
  /// Waits until the GPU has executed all commands. For measurements only, never while serving pictures.
  static func finish() { glFinish() }
}
