// A folder for one test.
import Foundation

/// Runs `body` with a folder that is removed afterwards.
func withTemporaryFolder<T>(_ body: (URL) async throws -> T) async throws -> T {
  let folder = URL.temporaryDirectory.appending(path: "glpreview-folder-\(UUID())")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(folder)
}
