// Pictures of test patterns that several tests read.
import Foundation
import Testing

/// Draws each picture once, when a test first requests it.
actor PatternPictures {
  static let shared = PatternPictures()

  private var drawings: [[String]: Task<[UInt8], any Error>] = [:]

  /// Returns a picture of a pattern, for example `smpte,size=64x48`, as a file with an extension such as `jpg`, with
  /// options of `render`.
  func picture(of pattern: String, as type: String, _ options: [String] = []) async throws -> [UInt8] {
    let arguments = ["pattern:\(pattern)", "-o", "picture.\(type)"] + options
    if let drawing = drawings[arguments] { return try await drawing.value }
    let drawing = Task<[UInt8], any Error> {
      let folder = try TestFolder()
      let result = try await folder.run(["render", "--renderer", "reference"] + arguments)
      try #require(result.status == 0, "\(result.errors)")
      return try folder.bytes(of: "picture.\(type)")
    }
    drawings[arguments] = drawing
    return try await drawing.value
  }
}

extension TestFolder {
  /// Writes a picture of a pattern to a file, whose extension selects the type.
  func writePicture(of pattern: String, to name: String, _ options: [String] = []) async throws {
    let type = URL(filePath: name).pathExtension
    try write(await PatternPictures.shared.picture(of: pattern, as: type, options), to: name)
  }
}
