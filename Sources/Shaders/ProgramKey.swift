// What is compiled: a fragment shader and what is defined for it; the key under which a program is kept.

/// A fragment shader and its defines.
package struct ProgramKey: Sendable, Hashable {
  /// The stage, before what it includes is put in.
  package let fragment: ShaderSource
  /// `NAME VALUE`, in the order in which they are defined.
  package let defines: [String]

  /// `fragment` with `defines`.
  package init(_ fragment: ShaderSource, _ defines: [String]) {
    self.fragment = fragment
    self.defines = defines
  }

  /// Every program that the tests compile: all that draw tap by tap, and of the others one of each kind and count.
  package static let all: [ProgramKey] =
    ShaderVariant.all.map(\.program) + BoxVariant.samples.map(\.program)
    + WordVariant.samples.map(\.program) + LayerVariant.programs
    + [
      BoxVariant.turn(pixels: false), BoxVariant.turn(pixels: true),
      BoxVariant.turn(pixels: true, byTurns: true), WordVariant.turn,
    ]
}
