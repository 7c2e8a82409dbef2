// Runs compute shaders in the place of draws, and orders what they write.
internal import Shaders

/// Runs the compute shaders of one frame.
final class Computing {
  /// The pictures that are written to a buffer; nil if all are read from targets.
  let pictures: PictureBuffer?
  /// Whether something was written since the last barrier.
  private var hasWritten = false

  /// The sides of a workgroup of shaders that include place.glsl.
  private static let group = Size(width: 16, height: 8)

  /// Targets and buffers may still be read for earlier pictures.
  init(_ pictures: PictureBuffer?) {
    self.pictures = pictures
    GLCommands.orderWrites()
  }

  /// Where a step's output is to be written: to the buffer, or, if it is nil, to images.
  struct Destination {
    fileprivate let inBuffer: (pictures: PictureBuffer, place: PictureBuffer.Place)?

    var stage: ProgramKey.Stage { inBuffer == nil ? .images : .buffer }

    /// The output: a target that `make` takes, unless it is in the buffer.
    func output(_ make: () throws -> PooledTarget) rethrows -> Output {
      if let (pictures, place) = inBuffer { .buffer(pictures, place) } else { .target(try make()) }
    }
  }

  /// Where a compute shader writes.
  enum Output {
    case target(PooledTarget)
    case buffer(PictureBuffer, PictureBuffer.Place)

    /// Nil if it is in the buffer.
    var target: PooledTarget? { if case .target(let target) = self { target } else { nil } }
  }

  /// The destination of a step's result, which has one plane or two.
  func destination(of result: Int, ofTwoPlanes isOfTwo: Bool) -> Destination {
    guard let pictures, let place = pictures.places[result], (place.second != nil) == isOfTwo else {
      return Destination(inBuffer: nil)
    }
    return Destination(inBuffer: (pictures, place))
  }

  /// Runs the program in use for each texel of `size`.
  func draw(_ program: borrowing Program, _ size: Size, into output: Output) {
    program.shader.set("drawnSize", SIMD2(Int32(size.width), Int32(size.height)))
    run(program, in: size.tiles(of: Self.group), into: output)
  }

  /// Runs the program in use in this many workgroups.
  func run(_ program: borrowing Program, in groups: Size, into output: Output) {
    switch output {
    case .target(let target): target.bindImages()
    case .buffer(let pictures, let place):
      pictures.buffer.object.bindStorage()
      program.shader.set(
        "rowsInBuffer",
        SIMD3(Int32(place.first / 4), Int32((place.second ?? 0) / 4), Int32(place.bytesPerRow / 4)))
    }
    program.shader.dispatch(groups)
    hasWritten = true
  }

  /// Makes what was written visible to what follows. With `drawn`, fragment shaders may have drawn it, which
  /// needs no order by OpenGL, but Mesa's softpipe does not flush what it has drawn before a compute shader.
  func orderWrites(drawn isDrawn: Bool = false) {
    if hasWritten || isDrawn { GLCommands.orderWrites() }
    hasWritten = false
  }
}

extension Size {
  /// The number of tiles of this size that cover it, across and down.
  func tiles(of tile: Size) -> Size {
    Size(width: (width + tile.width - 1) / tile.width, height: (height + tile.height - 1) / tile.height)
  }
}

/// A buffer on the GPU for all pictures of a frame, with the places of planes that compute shaders write there. It is copied
/// as a whole to where it is read back: some drivers keep a buffer that is mapped for reading in the CPU's memory, which shaders
/// write slowly.
final class PictureBuffer {
  let buffer: Shared<PixelBuffer>
  /// By the number of a step's result.
  let places: [Int: Place]

  /// A step's output, of one plane or two.
  struct Place {
    /// The first bytes of either plane.
    let first: Int
    fileprivate(set) var second: Int?
    let bytesPerRow: Int
  }

  private init(_ buffer: Shared<PixelBuffer>, _ places: [Int: Place]) {
    (self.buffer, self.places) = (buffer, places)
  }

  /// Takes a buffer for the pictures of `views`, which `drawing` draws, by `take`, which gets its least number of bytes. The
  /// pictures follow one another; places are those of results that nothing else reads. Nil if no result has one.
  static func take(
    for views: [PlannedView], _ drawing: DrawingPlan, _ take: (Int) throws(GLError) -> Shared<PixelBuffer>
  ) throws(GLError) -> PictureBuffer? {
    guard views.allSatisfy({ $0.composition == nil }) else { return nil }
    var places: [Int: Place] = [:]
    var unfit = drawing.resultsReadBySteps
    // No compute shader draws warps.
    for step in drawing.steps { if case .warp = step.work { unfit.insert(step.result) } }
    var offset = 0
    for (view, planes) in zip(views, drawing.planes) {
      let layout = PictureLayout(view, bytesPerRow: view.passes.map(\.bytesPerRowOfTexels), isByTurns: false)
      for (plane, planned) in zip(layout.planes, planes) {
        let start = offset + plane.offset
        if planned.output == 0 {
          // A result that several views show is copied for each. Pixels are written four at a time.
          let isAligned = view.format != .rgba || start % 16 == 0
          if places[planned.result] != nil || !isAligned { unfit.insert(planned.result) }
          places[planned.result] = Place(first: start, bytesPerRow: plane.bytesPerRow)
        } else if let place = places[planned.result], place.second == nil,
          place.bytesPerRow == plane.bytesPerRow
        {
          places[planned.result]?.second = start
        } else {
          unfit.insert(planned.result)
        }
      }
      offset += layout.byteCount
    }
    places = places.filter { !unfit.contains($0.key) }
    guard !places.isEmpty, offset <= GLCommands.maximumStorageSize else { return nil }
    return PictureBuffer(try take(offset), places)
  }
}

extension PlanePass {
  /// The bytes per row of its plane in texels of four samples, as all are where compute shaders draw.
  var bytesPerRowOfTexels: Int { (size.width + 3) / 4 * (output == .rgba ? 16 : 4) }
}
