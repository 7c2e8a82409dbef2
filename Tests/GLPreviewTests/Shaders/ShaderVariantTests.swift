// Every variant that a plan may ask for is checked by the reference compiler, on a machine with or without a GPU.
import Foundation
import Shaders
import Testing

@Suite("Shader variants")
struct ShaderVariantTests {
  @Test("every shader variant passes glslangValidator")
  func allVariantsAreValid() throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "glpreview-shaders-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }

    // Uniforms are passed by rewriting a source, with its conditions: one variant of each set of names shows that.
    let kinds = Dictionary(grouping: ProgramKey.all.filter { $0.stage == .fragment }) { key in
      [key.source.text] + key.defines.map { String($0.prefix { $0 != " " }) }
    }
    let passed = Set(kinds.values.compactMap(\.first))

    var files = [try write(ShaderSource.fullscreen.text, "fullscreen.vert", folder)]
    for (index, key) in ProgramKey.all.enumerated() {
      let fragment = key.source.withIncludes
      let defines = key.defines.map { "#define \($0)\n" }.joined()
      func write(_ source: ShaderSource, _ name: String) throws {
        let lines = source.text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        files.append(try self.write("\(lines[0])\n\(defines)\(lines[1])", name, folder))
      }
      guard key.stage == .fragment else {
        try write(fragment, "variant-\(index).comp")
        continue
      }
      try write(fragment, "variant-\(index).frag")
      guard passed.contains(key) else { continue }
      let flat = ShaderSource.fullscreen.withVersion(of: fragment).passing(uniformsOf: fragment)
      try write(flat.fragment, "flat-\(index).frag")
      try write(flat.vertex, "flat-\(index).vert")
    }

    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["glslangValidator"] + files.map(\.path)
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output

    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()

    #expect(process.terminationStatus == 0, "\(text)")
  }

  private func write(_ text: String, _ name: String, _ folder: URL) throws -> URL {
    let file = folder.appending(path: name)
    try text.write(to: file, atomically: false, encoding: .utf8)
    return file
  }

  @Test("every include of a shader is resolved, and tapsAt is included once")
  func includes() {
    for source in [ShaderSource.rows, .columns, .passes, .sample, .warp, .light] {
      let text = source.withIncludes.text
      #expect(!text.contains("#include"), "\(source.fileName) includes a file that is not there")
      #expect(text.components(separatedBy: "vec4 tapsAt(").count == 2)
    }
  }
}

@Suite("Shader files")
struct ShaderFileTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Resources/shaders")

  private static func files(in folder: URL) throws -> [(name: String, text: String)] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      .filter { $0.contains(".") }
      .map { ($0, try String(contentsOf: folder.appending(path: $0), encoding: .utf8)) }
  }

  @Test("a shader file starts with its #version, and all but a vertex shader declare highp precision")
  func stages() throws {
    for (name, text) in try ShaderFileTests.files(in: ShaderFileTests.folder) {
      // Buffers as textures are of 3.2, compute shaders of 3.1; what does without them runs on 3.0.
      let version = name.contains("words") ? "320" : name.hasSuffix(".comp") ? "310" : "300"
      #expect(text.hasPrefix("#version \(version) es\n"), "\(name)")
      if !name.hasSuffix(".vert") {
        #expect(text.contains("precision highp float;"), "\(name)")
        #expect(text.contains("precision highp int;"), "\(name)")
      }
    }
  }

  @Test("no shader calls texture or textureLod, since filtering differs between drivers")
  func texelFetchOnly() throws {
    let folders = [ShaderFileTests.folder, ShaderFileTests.folder.appending(path: "include")]
    for folder in folders {
      for (name, text) in try ShaderFileTests.files(in: folder) {
        #expect(!text.contains("texture("), "\(name)")
        #expect(!text.contains("textureLod("), "\(name)")
      }
    }
  }

  @Test("a shader include file has no main function and no #version")
  func includesHaveNoMain() throws {
    let folder = ShaderFileTests.folder.appending(path: "include")
    for (name, text) in try ShaderFileTests.files(in: folder) {
      #expect(!text.contains("void main"), "\(name)")
      #expect(!text.contains("#version"), "\(name)")
    }
  }

  @Test("embedded shader sources equal the files in Resources/shaders")
  func embedded() throws {
    for source in [ShaderSource.fullscreen, .rows, .columns, .passes, .sample, .warp, .light, .turn] {
      let text = try String(
        contentsOf: ShaderFileTests.folder.appending(path: source.fileName), encoding: .utf8)
      #expect(source.text == text, "\(source.fileName)")
    }
  }
}
