// The GLSL of Resources/shaders, in the binary, each file by its name.
internal import CShaders

/// The text of one file.
public struct ShaderSource: Sendable, Hashable {
  /// Its name below Resources/shaders, or below Resources/shaders/include.
  public let fileName: String
  /// As it is in the file, or with what it includes put in.
  public let text: String

  /// A triangle that covers the viewport.
  public static let fullscreen = unsafe ShaderSource("fullscreen.vert", glp_fullscreen_vert)
  /// A plane of a picture.
  public static let compose = unsafe ShaderSource("compose.frag", glp_compose_frag)
  /// A signal summed up along one axis.
  public static let reduce = unsafe ShaderSource("reduce.frag", glp_reduce_frag)

  /// A plane, or pixels, shrunk by areas.
  public static let box = unsafe ShaderSource("box.frag", glp_box_frag)
  /// A turned copy.
  public static let turn = unsafe ShaderSource("turn.frag", glp_turn_frag)

  /// The same, sixteen bytes at a time.
  public static let words = unsafe ShaderSource("words.frag", glp_words_frag)
  /// A turned copy, sixteen bytes at a time.
  public static let turnWords = unsafe ShaderSource("turnwords.frag", glp_turnwords_frag)

  private static let included = unsafe [
    ShaderSource("taps.glsl", glp_taps_glsl), ShaderSource("light.glsl", glp_light_glsl),
    ShaderSource("luma.glsl", glp_luma_glsl), ShaderSource("chroma.glsl", glp_chroma_glsl),
    ShaderSource("box.glsl", glp_box_glsl), ShaderSource("words.glsl", glp_words_glsl),
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
  public func withVersion(of other: ShaderSource) -> ShaderSource {
    let version = other.text.prefix { $0 != "\n" }
    return ShaderSource(fileName, text: String(version + text.drop(while: { $0 != "\n" })))
  }

  /// With every `#include "NAME"` line replaced by that file, which may include others in turn.
  ///
  /// GLSL ES has no such line. A name that is not there is left as it stands, for the compiler to refuse.
  public var withIncludes: ShaderSource {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let words = line.split(separator: "\"")
      guard line.hasPrefix("#include "), words.count >= 2,
        let source = ShaderSource.included.first(where: { $0.fileName == words[1] })
      else { return String(line) }
      return source.withIncludes.text
    }
    return ShaderSource(fileName, text: lines.joined(separator: "\n"))
  }
}
