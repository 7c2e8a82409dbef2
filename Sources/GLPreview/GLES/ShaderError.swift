// Why a shader is none: the driver's words, and the line of ours that they speak of.

/// A vertex or fragment shader as it is written.
struct ShaderText: Sendable, Hashable {
  /// What errors call it: its name below Resources/shaders.
  let fileName: String
  /// GLSL ES; the first line is `#version`.
  let text: String
}

/// A `#define` of a variant, in the order in which it is given.
struct ShaderDefine: Sendable, Hashable, CustomStringConvertible {
  let name: String
  let value: String

  init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  var description: String { "\(name)=\(value)" }
}

/// A program that a driver did not take.
struct ShaderError: Error, Equatable, CustomStringConvertible {
  enum Step: Sendable, Equatable { case compiling, linking }

  let step: Step
  /// One file for a stage; both where they were linked.
  let fileNames: [String]
  let defines: [ShaderDefine]
  /// What the driver says, as it says it.
  let log: String
  /// The line that the log names first, with its number: "7: color = vec3(1.0);".
  let sourceLine: String?

  var description: String {
    let variant = defines.isEmpty ? "" : " with " + defines.map(\.description).joined(separator: " ")
    let heading = "\(step) \(fileNames.joined(separator: " and "))\(variant)"
    let said = log.isEmpty ? "the driver gives no reason" : log
    return [heading + ": " + said, sourceLine].compactMap(\.self).joined(separator: "\n  line ")
  }

  /// The line of `text` that a log names first, written `0:7(12)` by Mesa, `0:7:` by others, `0(7)` by NVIDIA.
  static func line(namedIn log: String, of text: String) -> String? {
    guard let match = log.firstMatch(of: /\b0[:(](\d+)/), let number = Int(match.output.1) else { return nil }
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    guard lines.indices.contains(number - 1) else { return nil }
    return "\(number): \(lines[number - 1].drop(while: \.isWhitespace))"
  }
}
