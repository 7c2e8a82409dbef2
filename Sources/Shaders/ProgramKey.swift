// The key of a compiled program: a fragment shader and its defines.

/// A fragment shader and its defines.
package struct ProgramKey: Sendable, Hashable {
  /// The fragment shader, with `#include` lines not yet resolved.
  package let fragment: ShaderSource
  /// `NAME VALUE` lines, in order.
  package let defines: [String]

  package init(_ fragment: ShaderSource, _ defines: [String]) {
    self.fragment = fragment
    self.defines = defines
  }

  /// Every program that the tests compile: all tap-by-tap variants, and a selection of the others.
  package static let all: [ProgramKey] =
    ShaderVariant.all.map(\.program) + BoxVariant.samples.map(\.program)
    + WordVariant.samples.map(\.program) + LayerVariant.programs
    + [
      BoxVariant.turn(pixels: false), BoxVariant.turn(pixels: true),
      BoxVariant.turn(pixels: true, byTurns: true), WordVariant.turn,
    ]
}
