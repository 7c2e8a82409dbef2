// Shader compiler errors: the driver's log, and the source line that it refers to.

/// The source of a vertex or fragment shader.
struct ShaderText: Sendable, Hashable {
  /// The name in errors: the path below Resources/shaders.
  let fileName: String
  /// GLSL ES; the first line is `#version`.
  let text: String
}

/// A `#define` of a variant, in order.
struct ShaderDefine: Sendable, Hashable, CustomStringConvertible {
  let name: String
  let value: String

  init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  var description: String { "\(name)=\(value)" }
}

/// A program that the driver rejected.
struct ShaderError: Error, Equatable, CustomStringConvertible {
  enum Step: Sendable, Equatable { case compiling, linking }

  let step: Step
  /// One file for a compile error; both for a link error.
  let fileNames: [String]
  let defines: [ShaderDefine]
  /// The driver's log, verbatim.
  let log: String
  /// The first source line named in the log, with its number: "7: color = vec3(1.0);".
  let sourceLine: String?

  var description: String {
    let variant = defines.isEmpty ? "" : " with " + defines.map(\.description).joined(separator: " ")
    let heading = "\(step) \(fileNames.joined(separator: " and "))\(variant)"
    let said = log.isEmpty ? "the driver gives no reason" : log
    return [heading + ": " + said, sourceLine].compactMap(\.self).joined(separator: "\n  line ")
  }

  /// The line of `text` that a log names first: `0:7(12)` in Mesa's, `0:7:` in others', `0(7)` in NVIDIA's.
  static func line(namedIn log: String, of text: String) -> String? {
    guard let match = log.firstMatch(of: /\b0[:(](\d+)/), let number = Int(match.output.1) else { return nil }
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    guard lines.indices.contains(number - 1) else { return nil }
    return "\(number): \(lines[number - 1].drop(while: \.isWhitespace))"
  }
}
