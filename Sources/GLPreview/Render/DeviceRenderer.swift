// What sessions and pipelines draw with: OpenGL on a device, or the CPU.

/// A drawn frame: one picture per view, and the GPU time of the passes if it is known.
package typealias DrawnFrame = (pictures: [Picture], gpuTime: Duration?)

/// A renderer of a device of this machine.
package protocol DeviceRenderer: Renderer, AnyObject where Failure == RenderError {
  nonisolated var device: GPUDevice { get }

  /// The limits and preferences for plans of this renderer.
  nonisolated var tuning: RenderTuning { get }

  /// The bytes kept for the next pictures.
  nonisolated var cachedByteCount: Int { get }

  /// The compiled programs.
  nonisolated var programCount: Int { get }

  /// Draws like `render(_:_:)`, counts the memory that is taken for it against `budget`, and measures the
  /// GPU's time, if the GPU has a clock and `tuning.timesPasses` is true.
  func render(_ frame: Frame, _ plan: RenderPlan, within budget: MemoryBudget?) async throws(RenderError)
    -> DrawnFrame

  /// Draws like `render(_:_:)`, and counts and measures as for views of a frame.
  func render(_ frames: [Frame?], _ plan: ScenePlan, within budget: MemoryBudget?) async throws(RenderError)
    -> DrawnFrame

  /// Draws like `render(_:_:)`, and measures each stage.
  func measure(
    _ frame: Frame, _ plan: RenderPlan
  ) async throws(RenderError) -> (pictures: [Picture], measurement: RenderMeasurement)

  /// Makes `pool` allocate frames in memory that the device reads in place, if it can.
  func lendMemory(to pool: FramePool) async

  /// Frees the memory that pools borrowed, but no frame uses.
  func removeUnheldMemory() async

  /// Frees the memory kept for the next pictures.
  func removeCached() async

  /// Frees the programs.
  func removePrograms() async

  /// Whether the driver refused a shader that codes pictures.
  var refusesCoding: Bool { get async }

  /// Frees everything. The renderer can't be used any more.
  func close() async
}

extension DeviceRenderer {
  package var refusesCoding: Bool { get async { false } }

  /// Plans views of frames, with their labels except for those that show the time, which only sessions draw.
  ///
  /// - Throws: `ParameterError` if a crop is not inside the frame, or a picture exceeds the limits.
  package nonisolated func planned(
    _ format: Frame.Format, _ views: [ViewConfiguration], as output: Picture.Format,
    coding: PictureCoding? = nil, maximumPixels: Int = 100_000_000
  ) throws(ParameterError) -> RenderPlan {
    let planner = RenderPlanner(tuning: tuning, maximumPixels: maximumPixels)
    return try planner.plan(
      format,
      views.map { view throws(ParameterError) in
        ViewRequest(
          view, as: output, coding: coding,
          under: try LabelLayers(at: nil, PangoTextRenderer.shared).layers(of: view, format, planner))
      })
  }
}

/// Opens the renderer of a choice.
package enum Renderers {
  /// Opens a renderer: `.automatic` is the first hardware that works, otherwise the CPU.
  ///
  /// - Throws: `DeviceError`, with all attempts and hints; `RenderError` if the driver fails.
  package static func open(_ choice: GPUDevice.Choice = .automatic) async throws -> any DeviceRenderer {
    switch choice {
    case .cpu: return CPUDrawing()
    case .automatic:
      guard HostFacts.hasGPUFile else { return CPUDrawing() }
      try PassTrial.check()
      do { return try await GLRenderer.open(.hardware) } catch {
        return CPUDrawing(GPUDevice(passingOver: "\(error)"))
      }
    case .hardware, .llvmpipe, .index, .node: return try await GLRenderer.open(choice)
    }
  }

  /// Opens a renderer on a device, with a tuning that need not be the device's own.
  package static func open(
    on device: GPUDevice, tuning: RenderTuning? = nil
  ) async throws -> any DeviceRenderer {
    guard device.kind != .cpu else { return CPUDrawing(device) }
    return try await GLRenderer.open(on: device, tuning: tuning ?? device.tuning)
  }
}
