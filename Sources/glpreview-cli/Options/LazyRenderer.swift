// The renderer of a command, which opens while the first sources are read.
import GLPreview
import ReferenceRenderer

/// A renderer that opens at its first use, or in the background before it.
actor LazyRenderer {
  private let choice: RendererChoice
  private let gpu: GPUDevice.Choice
  private var opening: Task<any Renderer, any Error>?

  /// Creates a renderer. If `opensNow` is true, the driver loads in the background.
  init(_ choice: RendererChoice, _ gpu: GPUDevice.Choice, opensNow: Bool = false) {
    (self.choice, self.gpu) = (choice, gpu)
    if opensNow { opening = Self.open(choice, gpu) }
  }

  private static func open(
    _ choice: RendererChoice, _ gpu: GPUDevice.Choice
  ) -> Task<any Renderer, any Error> {
    Task {
      guard choice == .gpu else { return ReferenceRenderer() }
      return try await Renderers.open(gpu)
    }
  }

  /// Returns the renderer, once it is open.
  @discardableResult
  func open() async throws -> any Renderer {
    let opening = self.opening ?? Self.open(choice, gpu)
    self.opening = opening
    return try await opening.value
  }

  private var renderer: (any DeviceRenderer)? {
    get async { try? await opening?.value as? any DeviceRenderer }
  }

  /// Opens another renderer at the next use, after an error of the device.
  func forget() { opening = nil }

  /// Frees the memory that the renderer caches for the next pictures.
  func removeCached() async { await renderer?.removeCached() }

  func close() async { await renderer?.close() }
}
