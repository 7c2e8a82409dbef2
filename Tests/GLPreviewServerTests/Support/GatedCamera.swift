// A camera of one still that opens when a test says so.
import TestSupport

@testable import GLPreview

struct GatedCamera {
  private let gate = AsyncStream.makeStream(of: Void.self)
  private let asked = AsyncStream.makeStream(of: Void.self)

  func source(named name: String, _ options: SourceOptions) -> SessionSource {
    var source = SessionSource(
      name: name, options: options,
      // Not live: a pattern's own times begin with 0, and would have to reach the time since the machine was started.
      SessionSource.Origin(isLive: false, hasSizes: false) { [asked, gate] _ in
        asked.continuation.yield()
        for await _ in gate.stream { break }
        return try await SourceLocator("pattern:smpte,size=64x48").open()
      })
    // Nothing stands in for it meanwhile.
    source.opensWithin = allTheTimeThereIs
    return source
  }

  /// Returns when a reader wants to open it.
  func isAsked() async { for await _ in asked.stream { break } }

  func open() {
    gate.continuation.yield()
    gate.continuation.finish()
  }
}
