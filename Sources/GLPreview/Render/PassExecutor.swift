// Executes tap-by-tap passes: binds program, textures and tables, sets uniforms, and draws one triangle.
internal import PreviewCore
internal import Shaders

/// Draws the passes of one frame. Intermediates shared by several passes are made once.
final class PassExecutor {
  private let frame: UploadedFrame
  private let programs: ProgramCache
  private let tables: TapTextureCache
  private let targets: TargetPool
  private var reduced: [Reduction: PooledTarget] = [:]

  /// The content of an intermediate: equal ones are drawn once.
  private struct Reduction: Hashable {
    let input: SignalInput
    let light: Filter.Light
    let background: RGBColor
    let crop: Rectangle
  }

  init(frame: UploadedFrame, programs: ProgramCache, tables: TapTextureCache, targets: TargetPool) {
    self.frame = frame
    self.programs = programs
    self.tables = tables
    self.targets = targets
  }

  func draw(_ pass: PlanePass, of view: PlannedView, into target: PooledTarget) throws {
    for input in pass.inputs where input.reduction != nil { try reduce(input, of: view) }
    let program = try programs.program(
      variant(
        pass.inputs.map(\.signal), reduced: pass.inputs.filter { $0.reduction != nil }.map(\.signal),
        of: view, to: pass.output.shaderOutput))
    program.shader.use()
    var units = UnitCounter()
    for input in pass.inputs { try bind(input, of: view, to: program, &units) }
    if let first = pass.inputs.first { try setCoverage(of: first, program) }
    set(pass, program)
    target.target.begin()
    program.shader.drawTriangle()
    try GLError.check("drawing \(view.format) \(view.size) of view '\(view.name)'")
  }

  func finish() {
    for target in reduced.values { targets.giveBack(target) }
    reduced = [:]
  }

  private func set(_ pass: PlanePass, _ program: borrowing Program) {
    let step = pass.positionsPerSample
    program.shader.set("positionsPerSample", SIMD2(Int32(step.x), Int32(step.y)))
    program.shader.set(
      "lastPosition", SIMD2(Int32(pass.positions.width - 1), Int32(pass.positions.height - 1)))
    program.shader.set("conversion", pass.conversion, offset: "conversionOffset")
    program.shader.set("background", SIMD3<Float>(pass.background))
    if case .component(let index) = pass.output {
      var component = SIMD3<Float>.zero
      component[index] = 1
      program.shader.set("component", component)
    }
  }

  private func setCoverage(of input: SignalInput, _ program: borrowing Program) throws {
    let columns = try tables.value(of: key(input, .horizontal))
    let rows = try tables.value(of: key(input, .vertical))
    program.shader.set(
      "coverageEntries",
      SIMD2(Int32(columns.sampleCount * columns.tapCount), Int32(rows.sampleCount * rows.tapCount)))
  }

  // MARK: Reductions

  private func reduction(_ input: SignalInput, of view: PlannedView) -> Reduction {
    Reduction(input: input, light: view.light, background: view.background, crop: view.crop)
  }

  /// Reduces a signal along one axis, into the bits of floats.
  private func reduce(_ input: SignalInput, of view: PlannedView) throws {
    let reduction = reduction(input, of: view)
    guard let axis = input.reduction, reduced[reduction] == nil else { return }
    let program = try programs.program(variant([input.signal], reduced: [], of: view, to: .floatBits))
    program.shader.use()
    var units = UnitCounter()
    try bindFrame(input.signal, of: view, to: program, &units)
    let columns = try tables.value(
      of: axis == .horizontal ? .taps(input.horizontal, from: 0) : .whole(input.horizontal.source.samples))
    let rows = try tables.value(
      of: axis == .vertical ? .taps(input.vertical, from: 0) : .whole(input.vertical.source.samples))
    bind(columns, rows, swapsAxes: input.swapsAxes, of: input.signal, to: program, &units)
    let target = try targets.take(
      TargetDescription(input.signal.intermediate, width: columns.sampleCount, height: rows.sampleCount))
    reduced[reduction] = target
    target.target.begin()
    program.shader.drawTriangle()
    try GLError.check("summing up \(input.signal.rawValue) for view '\(view.name)'")
  }

  // MARK: Inputs

  private func bind(
    _ input: SignalInput, of view: PlannedView, to program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    if let target = reduced[reduction(input, of: view)] {
      let sampler = input.signal == .chroma ? "cbPlane" : "\(input.signal.rawValue)Plane"
      target.target.texture.bind(unit: units.next(for: sampler, in: program))
    } else {
      try bindFrame(input.signal, of: view, to: program, &units)
    }
    bind(
      try tables.value(of: key(input, .horizontal)), try tables.value(of: key(input, .vertical)),
      swapsAxes: input.swapsAxes && input.reduction == nil, of: input.signal, to: program, &units)
  }

  /// The table along `axis` for a pass over both axes, or over the axis that is not reduced yet.
  private func key(_ input: SignalInput, _ axis: Axis) -> TapTableKey {
    let map = input.map(axis)
    guard let reduction = input.reduction else { return .taps(map, from: 0) }
    return reduction == axis ? .reduced(map) : .taps(map, from: map.source.samples.lowerBound)
  }

  private func bind(
    _ columns: TapTexture, _ rows: TapTexture, swapsAxes: Bool, of signal: Signal,
    to program: borrowing Program, _ units: inout UnitCounter
  ) {
    let name = signal.rawValue
    columns.bind(unit: units.next(for: "\(name)Columns", in: program))
    rows.bind(unit: units.next(for: "\(name)Rows", in: program))
    program.shader.set("\(name)Taps", SIMD2(Int32(columns.tapCount), Int32(rows.tapCount)))
    program.shader.set("\(name)SwapsAxes", swapsAxes ? 1 : 0)
  }

  private func bindFrame(
    _ signal: Signal, of view: PlannedView, to program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    let color = frame.format.color
    switch (signal, frame.format.pixelFormat.model) {
    case (.luma, .luma(let luma)), (.luma, .ycbcr(let luma, _, _)):
      try bindLuma(luma, to: program, &units)
    case (.chroma, .ycbcr(_, let cb, let cr)):
      try bindChroma(cb, cr, to: program, &units)
    case (.rgb, .rgb(let red, _, _, _)):
      try bindRGB(red, behind: view.background, to: program, &units)
    case (.rgb, .luma(let luma)):
      try bindLuma(luma, to: program, &units)
      program.shader.set("decoding", ColorConversion(rgbFrom: color), offset: "decodingOffset")
    case (.rgb, .ycbcr(let luma, let cb, let cr)):
      try bindLuma(luma, to: program, &units)
      try bindChroma(cb, cr, to: program, &units)
      program.shader.set("decoding", ColorConversion(rgbFrom: color), offset: "decodingOffset")
      setUpsampling(cb.subsampling, within: view.crop, program)
    case (.luma, .rgb), (.chroma, .rgb), (.chroma, .luma):
      throw RenderError("\(frame.format.pixelFormat) frames have no \(signal.rawValue)")
    }
  }

  private func bindLuma(_ luma: Component, to program: borrowing Program, _ units: inout UnitCounter) throws {
    let plane = try frame.plane(luma.plane)
    plane.bind(unit: units.next(for: "lumaPlane", in: program))
    program.shader.set("lumaChannel", luma.channelMask)
    program.shader.set("lumaBands", plane.bands.uniform)
  }

  private func bindChroma(
    _ cb: Component, _ cr: Component, to program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    try frame.plane(cb.plane).bind(unit: units.next(for: "cbPlane", in: program))
    try frame.plane(cr.plane).bind(unit: units.next(for: "crPlane", in: program))
    program.shader.set("cbChannel", cb.channelMask)
    program.shader.set("crChannel", cr.channelMask)
    program.shader.set(
      "chromaTexels", SIMD4(Int32(cb.texelStep), Int32(cb.texelOffset), Int32(cr.texelOffset), 0))
    program.shader.set("chromaBands", try frame.plane(cb.plane).bands.uniform)
  }

  private func bindRGB(
    _ red: Component, behind: RGBColor, to program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    let plane = try frame.plane(red.plane)
    plane.bind(unit: units.next(for: "rgbPlane", in: program))
    program.shader.set("rgbBands", plane.bands.uniform)
    program.shader.set("codeScale", Float(255) / Float(frame.format.pixelFormat.maximumCode))
    program.shader.set("behind", SIMD3<Float>(behind.codes))
  }

  /// Interpolates chroma for linear light, with the same arithmetic as the maps, at every pixel of the crop.
  private func setUpsampling(_ step: Subsampling, within crop: Rectangle, _ program: borrowing Program) {
    let siting = frame.format.color.siting == .left ? 0.5 - 0.5 / Float(step.x) : 0
    program.shader.set("chromaScale", SIMD2(1 / Float(step.x), 1 / Float(step.y)))
    program.shader.set("chromaSiting", SIMD2(siting, 0))
    func samples(_ start: Int, _ length: Int, _ step: Int) -> ClosedRange<Int> {
      CropSpan(start: start, length: length, subsampling: step, eighths: frame.format.eighths).samples
    }
    let columns = samples(crop.x, crop.width, step.x)
    let rows = samples(crop.y, crop.height, step.y)
    program.shader.set(
      "chromaSpan",
      SIMD4(
        Int32(columns.lowerBound), Int32(rows.lowerBound), Int32(columns.upperBound), Int32(rows.upperBound)))
  }

  // MARK: Variants

  private func variant(
    _ signals: [Signal], reduced: [Signal], of view: PlannedView, to output: ShaderVariant.Output
  ) -> ProgramKey {
    let origin = { (signal: Signal) -> ShaderVariant.Origin in reduced.contains(signal) ? .reduced : .frame }
    let inputs: ShaderVariant.Inputs =
      if signals.contains(.rgb) {
        .rgb(reduced.contains(.rgb) ? .reduced : rgbOrigin)
      } else if signals.contains(.luma), signals.contains(.chroma) {
        .lumaAndChroma(luma: origin(.luma), chroma: origin(.chroma))
      } else {
        signals.contains(.luma) ? .luma(origin(.luma)) : .chroma(origin(.chroma))
      }
    return ShaderVariant(
      inputs, to: output, isInLinearLight: view.light == .linear, isInBands: frame.isInBands
    ).program
  }

  private var rgbOrigin: ShaderVariant.RGBOrigin {
    switch frame.format.pixelFormat.model {
    case .rgb(_, _, _, let alpha): alpha == nil ? .opaque : .transparent
    case .luma: .luma
    case .ycbcr: .ycbcr
    }
  }
}

extension PassOutput {
  fileprivate var shaderOutput: ShaderVariant.Output {
    switch self {
    case .rgba: .rgba
    case .component: .packed
    }
  }
}

extension Signal {
  /// A format with one word per float of the signal; every GLES 3.0 device can draw into it.
  fileprivate var intermediate: TextureFormat {
    switch self {
    case .rgb: .rgba32ui
    case .luma: .r32ui
    case .chroma: .rg32ui
    }
  }
}

extension Component {
  /// 1 for the channel that holds the component.
  fileprivate var channelMask: SIMD4<Float> {
    var mask = SIMD4<Float>.zero
    mask[channel] = 1
    return mask
  }
}

extension ShaderProgram {
  /// Sets a `mat3` and the `vec3` added after it.
  fileprivate borrowing func set(_ matrix: String, _ conversion: ColorConversion, offset: String) {
    let columns = conversion.columns.map { SIMD3<Float>($0) }
    set(
      matrix,
      rows: (
        SIMD3(columns[0].x, columns[1].x, columns[2].x), SIMD3(columns[0].y, columns[1].y, columns[2].y),
        SIMD3(columns[0].z, columns[1].z, columns[2].z)
      ))
    set(offset, SIMD3<Float>(conversion.offset))
  }
}
