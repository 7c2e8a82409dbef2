// Binds a frame's planes to the samplers of shaders, whether it is in a buffer or in textures.
internal import Shaders

struct FramePlanes {
  let frame: UploadedFrame
  /// Whether shaders read the frame from a buffer.
  let areInBuffer: Bool

  /// Where shaders read the frame.
  var place: PassVariant.Place { areInBuffer ? .buffer : frame.importedPlace ?? .textures }

  init(_ frame: UploadedFrame, inBuffers: Bool) {
    self.frame = frame
    areInBuffer = inBuffers && frame.fitsBytes
  }

  func bindRGB(
    _ signal: PackedSignal, as view: TexelBuffer.View, _ program: borrowing Program,
    _ units: inout UnitCounter
  ) throws {
    try bindRGB(signal.components, step: signal.step, as: view, program, &units)
  }

  func bindRGB(
    _ components: [PackedComponent], step: Int, as view: TexelBuffer.View, _ program: borrowing Program,
    _ units: inout UnitCounter
  ) throws {
    let bytes = frame.format.pixelFormat.isWide ? 2 : 1
    let firsts = components.map { Int32($0.first * bytes) }
    try bind(plane: components[0].plane, as: "rgbPlane", view, program, &units)
    program.shader.set("rgbStep", step * bytes)
    program.shader.set("rgbFirst", SIMD3(firsts[0], firsts[1], firsts[2]))
  }

  func bindChroma(
    _ cb: PackedComponent, _ cr: PackedComponent, as view: TexelBuffer.View = .bytes,
    _ program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    try bind(plane: cb.plane, as: "cbPlane", view, program, &units)
    try bind(plane: cr.plane, as: "crPlane", view, program, &units)
    program.shader.set("chromaStep", cb.step)
    program.shader.set("chromaFirst", SIMD2(Int32(cb.first), Int32(cr.first)))
  }

  /// Binds a plane; in texels of this size, if the frame is in a buffer.
  func bind(
    plane: Int, as sampler: String, _ view: TexelBuffer.View, _ program: borrowing Program,
    _ units: inout UnitCounter
  ) throws {
    let unit = units.next(for: sampler, in: program)
    let store: SIMD4<Int32>
    if areInBuffer {
      let words = try frame.words()
      words.bind(unit: unit, as: view)
      let (place, perTexel) = (words.planes[plane], TexelBuffer.bytesPerTexel / view.rawValue)
      store = SIMD4(Int32(place.firstTexel * perTexel), Int32(place.texelsPerRow * perTexel), 0, 0)
    } else if let size = frame.bindImported(plane, unit: unit) {
      store = SIMD4(0, 0, 0, Int32(clamping: size.width))
    } else {
      let texture = try frame.plane(plane)
      texture.bind(unit: unit)
      store = texture.bands.uniform
    }
    let name = sampler == "plane" ? sampler : String(sampler.dropLast("Plane".count))
    program.shader.set("\(name)Store", store)
  }
}
