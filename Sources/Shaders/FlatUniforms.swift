// Passes uniforms to a fragment shader through its vertex shader.

extension ShaderSource {
  private static let flatTypes: Set<Substring> = [
    "float", "vec2", "vec3", "vec4", "int", "ivec2", "ivec3", "ivec4",
  ]

  /// Returns a vertex shader with the uniforms of a fragment shader, and the fragment shader, which reads
  /// them as flat inputs.
  ///
  /// llvmpipe (Mesa 22.3) loads a uniform for eight fragments by eight loads and inserts wherever it is read,
  /// even in loops; a flat input takes one broadcast. `area` at an uneven ratio takes a fifth less time,
  /// Lanczos a tenth.
  package func passing(uniformsOf fragment: ShaderSource) -> (vertex: ShaderSource, fragment: ShaderSource) {
    var declarations: [String] = []
    var assignments: [String] = []
    var lines: [String] = []
    for line in fragment.text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let text = String(Substring(line))
      lines.append(text)
      if line.starts(with: "#if".utf8) || line.starts(with: "#el".utf8) || line.starts(with: "#endif".utf8) {
        declarations.append(text)
        assignments.append(text)
      } else if line.starts(with: "uniform ".utf8) {
        let words = text.split(separator: " ", maxSplits: 3)
        guard words.count >= 3, ShaderSource.flatTypes.contains(words[1]) else { continue }
        let name = words[2].prefix { $0 != ";" }
        lines[lines.count - 1] = "flat in \(words[1]) \(name)_;\n#define \(name) \(name)_"
        declarations.append("uniform \(words[1]) \(name);\nflat out \(words[1]) \(name)_;")
        assignments.append("  \(name)_ = \(name);")
      }
    }
    let parts = text.split(separator: "\nvoid main() {\n", maxSplits: 1)
    let vertex = ([String(parts[0])] + declarations + ["void main() {"] + assignments + [String(parts[1])])
      .joined(separator: "\n")
    return (
      ShaderSource(fileName, text: vertex),
      ShaderSource(fragment.fileName, text: lines.joined(separator: "\n"))
    )
  }
}
