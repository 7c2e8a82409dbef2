// What a program without a session draws with: a GPU, or the CPU.

/// Draws frames as plans describe, on a GPU or on the CPU.
///
/// ```swift
/// let renderer = try await PictureRenderer.open()
/// let plan = try renderer.plan(frame.format, [ViewConfiguration(width: 320)], as: .rgba)
/// let picture = try await renderer.render(frame, plan)[0]
/// await renderer.close()
/// ```
public struct PictureRenderer: Sendable {
  let renderer: any DeviceRenderer

  /// The device that it draws on.
  public var device: GPUDevice { renderer.device }

  /// The number of frames worth drawing concurrently.
  public var framesInFlight: Int { renderer.tuning.framesInFlight }

  /// Opens a renderer.
  ///
  /// - Parameter choice: what draws. Default: the first hardware that works, otherwise the CPU.
  /// - Returns: the renderer; `device` is the device found.
  /// - Throws: `DeviceError`, with all attempts and hints; `RenderError` if the driver fails.
  public static func open(_ choice: GPUDevice.Choice = .automatic) async throws -> PictureRenderer {
    PictureRenderer(renderer: try await Renderers.open(choice))
  }

  /// Plans views of frames, to be drawn by this renderer.
  ///
  /// - Parameters:
  ///   - format: the format of the frames.
  ///   - views: the views to draw.
  ///   - output: the sample format of their pictures.
  ///   - maximumPixels: the most pixels that a picture may have.
  /// - Returns: the plan, for any number of frames of this format. It has the views' labels, except for those
  ///   that show the time, which only sessions draw.
  /// - Throws: `ParameterError` if a crop is not inside the frame, or a picture exceeds the limits.
  public func plan(
    _ format: Frame.Format, _ views: [ViewConfiguration], as output: Picture.Format,
    maximumPixels: Int = 100_000_000
  ) throws(ParameterError) -> RenderPlan {
    try renderer.planned(format, views, as: output, maximumPixels: maximumPixels)
  }

  /// Draws all views of `plan` from one frame.
  ///
  /// - Returns: one picture per view, in the plan's order.
  /// - Throws: `RenderError` if the driver fails, or the renderer is closed before the call ends.
  public func render(_ frame: Frame, _ plan: RenderPlan) async throws(RenderError) -> [Picture] {
    try await renderer.render(frame, plan)
  }

  /// Frees everything that it holds.
  public func close() async { await renderer.close() }
}
