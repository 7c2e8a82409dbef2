// Codes drawn pictures as JPEG by compute shaders. The scans are, byte for byte, libjpeg-turbo's: the integer DCT, its
// quantisation, and the standard Huffman tables.
internal import Shaders

/// A picture that is to be coded, whose planes are in a buffer.
struct CodingJob {
  let layout: PictureLayout
  /// The picture's first byte in the buffer, a multiple of 4.
  let offset: Int
  let coding: PictureCoding

  var isInBudget: Bool { coding.maximumBytes != nil }
  /// The quality of its tables: of 50, others are made by shaders.
  var tableQuality: Int { isInBudget ? 50 : coding.quality }
}

/// The scans of a frame's pictures, in a buffer on the GPU.
struct CodedScans {
  let buffer: Shared<PixelBuffer>
  /// For each job, where its number of bytes is, in bytes, and the bytes of the scan that fit.
  let places: [(start: Int, capacity: Int)]
}

/// Codes the pictures of frames.
///
/// Eight steps (JPEGStep), each for all pictures of a frame at once, because each waits for the one before. Within a budget, six
/// more search the quality first, by counting bits without writing one. No workgroup waits for
/// another, which OpenGL ES does not promise: sums over all blocks take two steps. The working memory is used by one
/// frame after another, in the order of the GPU's commands.
final class JPEGCoder {
  private let programs: ProgramCache
  /// The memory of one frame after another.
  private var (coefficients, work) = (WorkingBuffer(), WorkingBuffer())
  private let scans: PixelBufferPool
  private var tables: [Int: Shared<PixelBuffer>] = [:]
  /// The programs that were used. They take little memory where JPEGs are coded, and are not removed with the programs that draw.
  private var steps: [JPEGStep: Program] = [:]
  private var sizes = LRUCache<ExpectedSize, Int>(capacity: 64)
  /// How many pictures are not to be coded, because one did not fit.
  private var misfits = LRUCache<ExpectedSize, Int>(capacity: 64)

  fileprivate struct ExpectedSize: Hashable {
    let size: Size
    let format: Picture.Format
    let coding: PictureCoding
  }

  /// `capacity` is the number of frames in flight at the same time.
  init(_ programs: ProgramCache, capacity: Int) {
    self.programs = programs
    scans = PixelBufferPool(for: .storage, capacity: capacity)
  }

  var idleByteCount: Int { coefficients.byteCount + work.byteCount + scans.idle.byteCount }

  func removeIdle() {
    (coefficients, work) = (WorkingBuffer(), WorkingBuffer())
    scans.idle.removeAll()
    tables.removeAll()
  }

  func beginDrawing() { scans.idle.beginDrawing() }

  /// The GPU must have finished with the scans.
  func giveBack(_ coded: CodedScans) { scans.giveBack(coded.buffer) }

  func removePrograms() { steps.removeAll() }

  // MARK: Sizes

  /// The bytes of a scan that are copied before its size is known: half more than those of the largest of the last such
  /// pictures, which hardly ever grow faster.
  func expectedBytes(of job: CodingJob) -> Int {
    let last = sizes[ExpectedSize(job.layout, job.coding)]
    let expected = last.map { $0 + $0 / 2 + 1024 } ?? job.layout.byteCount / 4 + 1024
    return min(expected, job.coding.scanBudget ?? .max)
  }

  /// Notes the size of a scan; nil if it did not fit.
  func saw(_ byteCount: Int?, of job: CodingJob) {
    let key = ExpectedSize(job.layout, job.coding)
    guard let byteCount else { return misfits.insert(Self.mostSkipped, for: key) }
    sizes.insert(max(byteCount, (sizes[key] ?? 0) / 16 * 15), for: key)
  }

  /// The pictures that are left to the CPU after one that did not fit.
  private static let mostSkipped = 100

  // MARK: Coding

  /// Whether to code a picture of this layout: it is not too large, the driver refuses no shader, and the scans of such pictures
  /// fit.
  func codes(_ layout: PictureLayout, _ coding: PictureCoding) -> Bool {
    guard case .ycbcr(let chroma, .full) = layout.format else { return false }
    let key = ExpectedSize(layout, coding)
    if let count = misfits[key], count > 0 {
      misfits.insert(count - 1, for: key)
      return false
    }
    let places = JPEGPlaces(
      blocks: ScanBlocks(layout.size, chroma.subsampling), coefficients: 0, totals: 0, bytes: 0)
    return places.fit
      && JPEGStep.all.allSatisfy { step, isForBudgets in
        isForBudgets == !(coding.maximumBytes != nil) || program(step) != nil
      }
  }

  private func program(_ step: JPEGStep) -> Program? {
    if let program = steps[step] { return program }
    let program = programs.keptProgram(step.program)
    steps[step] = program
    return program
  }

  /// Makes the GPU code pictures, each of which can be coded, without waiting. Nil if they are too large together.
  func code(_ jobs: [CodingJob], from samples: borrowing PixelBuffer) throws(GLError) -> CodedScans? {
    var steps: [(JPEGStep, Program, Bool?)] = []
    for (step, isForBudgets) in JPEGStep.all {
      let isNeeded = jobs.contains { isForBudgets ?? $0.isInBudget == $0.isInBudget }
      guard isNeeded else { continue }
      guard let program = program(step) else { return nil }
      steps.append((step, program, isForBudgets))
    }
    var places: [JPEGPlaces] = []
    for job in jobs {
      guard case .ycbcr(let chroma, .full) = job.layout.format else { return nil }
      places.append(
        JPEGPlaces(
          blocks: ScanBlocks(job.layout.size, chroma.subsampling),
          coefficients: places.last?.endOfCoefficients ?? 0, totals: places.last?.endOfWork ?? 0,
          bytes: places.last?.endOfBytes ?? 0))
    }
    guard let last = places.last, last.fit, samples.byteCount <= GLCommands.maximumStorageSize else {
      return nil
    }
    let ends = [last.endOfCoefficients, last.endOfWork, last.endOfBytes].map { $0 * 4 }
    var qualities: [Int: Shared<PixelBuffer>] = [:]
    for job in jobs { qualities[job.tableQuality] = try table(job.tableQuality) }
    let (coefficients, work) = (try coefficients.buffer(ends[0]), try work.buffer(ends[1]))
    let bytes = try scans.take(ends[2])
    for (index, buffer) in [coefficients, work, bytes].enumerated() {
      buffer.object.bindStorage(at: index + 1)
    }
    samples.bindStorage(at: 0)
    GLCommands.orderWrites()
    for (step, program, isForBudgets) in steps {
      program.shader.use()
      for (job, places) in zip(jobs, places) where isForBudgets ?? job.isInBudget == job.isInBudget {
        qualities[job.tableQuality]?.object.bindUniforms(at: 0)
        places.set(step, job.coding, program)
        for (name, plane) in zip(["lumaPlane", "cbPlane", "crPlane"], job.layout.planes) {
          program.shader.set(name, plane.words(from: job.offset))
        }
        program.shader.dispatch(
          Size(groups: places.groups(step)), layers: step == .counts ? JPEGStep.candidates : 1)
      }
      GLCommands.orderWrites()
    }
    GLCommands.unbindCoding()
    try GLError.check("coding \(jobs.count) pictures")
    return CodedScans(
      buffer: bytes, places: places.map { ($0.bytes * 4, $0.blocks.mostByteWords * 4) })
  }

  /// The tables of a quality, as jpeg.glsl has them.
  private func table(_ quality: Int) throws(GLError) -> Shared<PixelBuffer> {
    if let table = tables[quality] { return table }
    let words: [UInt32]
    do throws(CodecError) { words = JPEGCoder.words(of: try JPEGTables(quality: quality)) } catch {
      throw GLError("\(error)", .bounds("no tables"))
    }
    let bytes = words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    let table = Shared(try PixelBuffer(byteCount: bytes.count, for: .uniforms))
    try table.object.replace(
      with: bytes.span, bytesPerRow: bytes.count, rowByteCount: bytes.count, rowCount: 1)
    tables[quality] = table
    return table
  }

  /// Divisors and places in zigzag order, then codes.
  private static func words(of tables: JPEGTables) -> [UInt32] {
    // The DCT's results have three bits of fraction (libjpeg, jcdctmgr.c).
    let divisors = tables.quantizers.flatMap { steps in zigzag.map { UInt32(steps[$0]) * 8 } }
    return divisors + zigzag.map(UInt32.init) + (tables.dcCodes + tables.acCodes).joined()
  }

  /// The places in a block in the order of the scan (T.81, figure 5).
  private static let zigzag: [Int] = (0..<15).flatMap { sum in
    let rows = max(0, sum - 7)...min(7, sum)
    return (sum % 2 == 0 ? rows.reversed() : Array(rows)).map { $0 * 8 + sum - $0 }
  }
}

extension JPEGCoder.ExpectedSize {
  fileprivate init(_ layout: PictureLayout, _ coding: PictureCoding) {
    self.init(size: layout.size, format: layout.format, coding: coding)
  }
}

/// A buffer that grows with what is needed.
private struct WorkingBuffer {
  private var current: Shared<PixelBuffer>?
  private static let unit = 1 << 20

  var byteCount: Int { current?.object.byteCount ?? 0 }

  /// A buffer of at least this many bytes. The GPU uses it for one frame after another, in the order of its commands.
  mutating func buffer(_ count: Int) throws(GLError) -> Shared<PixelBuffer> {
    if let current, current.object.byteCount >= count { return current }
    // Before the next one is made.
    current = nil
    let size = min((count + Self.unit - 1) / Self.unit * Self.unit, GLCommands.maximumStorageSize)
    let buffer = Shared(try PixelBuffer(byteCount: size, for: .storage))
    current = buffer
    return buffer
  }
}

extension Picture.Plane {
  /// The first word, the words in a row, the last column and the last row, of a plane in a picture at `start`.
  fileprivate func words(from start: Int) -> SIMD4<Int32> {
    SIMD4(
      Int32((start + offset) / 4), Int32(bytesPerRow / 4), Int32(size.width - 1), Int32(size.height - 1))
  }
}

extension Size {
  /// At least this many workgroups, of which every device takes 65,535 in a direction.
  fileprivate init(groups: Int) {
    let rows = (groups + 65_534) / 65_535
    self.init(width: (groups + rows - 1) / rows, height: rows)
  }
}
