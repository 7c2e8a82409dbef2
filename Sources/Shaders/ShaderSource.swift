// The GLSL of Resources/shaders, in the binary, each file by its name.
internal import CShaders

/// The text of one file.
package struct ShaderSource: Sendable, Hashable {
  /// Its name below Resources/shaders, or below Resources/shaders/include.
  package let fileName: String
  /// As it is in the file, or with what it includes put in.
  package let text: String

  /// A triangle that covers the viewport.
  package static let fullscreen = unsafe ShaderSource("fullscreen.vert", glp_fullscreen_vert)
  /// A plane of a picture.
  package static let compose = unsafe ShaderSource("compose.frag", glp_compose_frag)
  /// A signal summed up along one axis.
  package static let reduce = unsafe ShaderSource("reduce.frag", glp_reduce_frag)

  /// A plane, or pixels, shrunk by areas.
  package static let box = unsafe ShaderSource("box.frag", glp_box_frag)
  /// A turned copy.
  package static let turn = unsafe ShaderSource("turn.frag", glp_turn_frag)

  /// The same, sixteen bytes at a time.
  package static let words = unsafe ShaderSource("words.frag", glp_words_frag)
  /// A turned copy, sixteen bytes at a time.
  package static let turnWords = unsafe ShaderSource("turnwords.frag", glp_turnwords_frag)

  /// One layer of a composition.
  package static let layer = unsafe ShaderSource("layer.frag", glp_layer_frag)
  /// Samples drawn larger along the columns.
  package static let spread = unsafe ShaderSource("spread.frag", glp_spread_frag)
  /// Planes of a composed picture.
  package static let planes = unsafe ShaderSource("planes.frag", glp_planes_frag)

  private static let included = unsafe [
    ShaderSource("taps.glsl", glp_taps_glsl), ShaderSource("light.glsl", glp_light_glsl),
    ShaderSource("luma.glsl", glp_luma_glsl), ShaderSource("chroma.glsl", glp_chroma_glsl),
    ShaderSource("box.glsl", glp_box_glsl), ShaderSource("words.glsl", glp_words_glsl),
    ShaderSource("pixels.glsl", glp_pixels_glsl), ShaderSource("bell.glsl", glp_bell_glsl),
    ShaderSource("rgb.glsl", glp_rgb_glsl), ShaderSource("signals.glsl", glp_signals_glsl),
  ]

  private init(_ fileName: String, _ embedded: glp_shader_text) {
    self.fileName = fileName
    self.text = unsafe String(
      decoding: UnsafeRawBufferPointer(start: embedded.text, count: embedded.length), as: UTF8.self)
  }

  private init(_ fileName: String, text: String) {
    self.fileName = fileName
    self.text = text
  }

  /// The same with the `#version` line of another: shaders of two versions can't be linked.
  package func withVersion(of other: ShaderSource) -> ShaderSource {
    let (version, rest) = (
      other.text.utf8.prefix { $0 != UInt8(ascii: "\n") }, text.utf8.drop { $0 != UInt8(ascii: "\n") }
    )
    return ShaderSource(fileName, text: "\(Substring(version))\(Substring(rest))")
  }

  /// The file whose name stands in quotation marks.
  private static func source(namedIn line: Substring.UTF8View) -> ShaderSource? {
    let words = line.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
    return words.count < 2 ? nil : included.first { $0.fileName.utf8.elementsEqual(words[1]) }
  }

  /// With every `#include "NAME"` line replaced by that file, which may include others in turn.
  ///
  /// GLSL ES has no such line. A name that is not there is left as it stands, for the compiler to refuse.
  package var withIncludes: ShaderSource {
    // Bytes, not characters, which Unicode makes dear: this is done for each program of each run.
    var bytes: [UInt8] = []
    for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      if line.starts(with: "#include ".utf8), let source = ShaderSource.source(namedIn: line) {
        bytes += source.withIncludes.text.utf8
      } else {
        bytes += line
      }
      bytes.append(UInt8(ascii: "\n"))
    }
    return ShaderSource(fileName, text: String(decoding: bytes.dropLast(), as: UTF8.self))
  }
}
