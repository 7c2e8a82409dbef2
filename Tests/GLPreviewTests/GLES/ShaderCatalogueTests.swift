// Every variant of the catalogue on whatever device is there.
import Shaders
import Testing

@testable import GLPreview

@Test("the device compiles and links every variant of every shader", arguments: [false, true])
func allVariantsLink(hasFlatUniforms: Bool) async throws {
  try await withContext {
    for key in ProgramKey.all { _ = try Program(key, hasFlatUniforms: hasFlatUniforms) }
  }
}
