import PreviewCore

@testable import GLPreview
@testable import GLPreviewServer

/// A camera that opens when a test says so.
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

  /// One that shows all it sees in its view `main`, or, locked, 20x10 pixels of it.
  static func configuration(isLocked: Bool) -> CameraConfiguration {
    // The source is the same: another view of it has a crop before and after.
    let other = ServedView(
      ViewConfiguration(name: "other", crop: Rectangle(x: 0, y: 0, width: 8, height: 8)))
    var view = ServedView(ViewConfiguration(name: "main"))
    if isLocked { view.view.crop = Rectangle(x: 4, y: 4, width: 20, height: 10) }
    view.isLocked = isLocked
    var served = CameraConfiguration(name: "cam", source: "script", views: [view, other])
    served.isRequired = false
    return served
  }

  /// Returns when somebody wants to open it.
  func isAsked() async { for await _ in asked.stream { break } }

  func open() {
    gate.continuation.yield()
    gate.continuation.finish()
  }
}
