// The stream of commands as a whole.
internal import CGLES

enum GLPipeline {
  /// Waits until the GPU has done all that it was told: for measuring, never on a picture's way.
  static func finish() { glFinish() }
}
