// The blocks of a JPEG, and where the shaders that code it keep what they make.
internal import Shaders

/// The blocks of a picture in the order of its scan.
struct ScanBlocks: Hashable {
  /// Across and down.
  let mcus: Size
  /// Blocks of Y' in an MCU.
  let lumaPerMCU: Size
  /// Blocks of Y' that have samples.
  let luma: Size

  /// The blocks of a picture of `size`, with this many pixels per chroma sample.
  init(_ size: Size, _ chroma: Subsampling) {
    let side = 8
    lumaPerMCU = Size(width: chroma.x, height: chroma.y)
    luma = size.tiles(of: Size(width: side, height: side))
    mcus = luma.tiles(of: lumaPerMCU)
  }

  var count: Int { mcus.pixelCount * (lumaPerMCU.pixelCount + 2) }

  /// The most words of the scan before stuffing: two bytes a sample of small pictures and one of large ones, which is more
  /// than worth it. Whole chunks of whole workgroups.
  var mostBitWords: Int {
    let samples = count * 64
    return (samples + min(samples, 1 << 20)) / 4 / Self.unit * Self.unit + Self.unit
  }

  /// The most words of the scan with stuffing, which adds a byte to 256 of noise.
  var mostByteWords: Int { mostBitWords + mostBitWords / 64 }

  private static let unit = JPEGStep.wordsPerChunk * JPEGStep.invocations
}

/// The places of one picture's data, in words.
struct JPEGPlaces {
  let blocks: ScanBlocks
  let coefficients: Int
  let totals: Int
  let bytes: Int

  /// Before each scan: its number of bytes, and its quality if that was searched.
  private static let headerWords = 4
  static let headerBytes = headerWords * 4
  /// The total of bits, and what is searched for a budget.
  private static let totalWords = 4 + JPEGStep.candidates

  private var blockGroups: Int { (blocks.count + JPEGStep.invocations - 1) / JPEGStep.invocations }
  private var chunkCount: Int { blocks.mostBitWords / JPEGStep.wordsPerChunk }
  private var chunkGroups: Int { chunkCount / JPEGStep.invocations }

  private var bitsBefore: Int { totals + Self.totalWords }
  private var bitsBeforeGroups: Int { bitsBefore + blockGroups * JPEGStep.invocations }
  private var bits: Int { bitsBeforeGroups + blockGroups }
  private var stuffingBefore: Int { bits + blocks.mostBitWords }
  private var stuffingBeforeGroups: Int { stuffingBefore + chunkCount }

  /// The first word after the picture's data, in each buffer.
  var endOfCoefficients: Int { coefficients + blocks.count * 32 }
  var endOfWork: Int { (stuffingBeforeGroups + chunkGroups + 3) / 4 * 4 }
  var endOfBytes: Int { (bytes + Self.headerWords + blocks.mostByteWords + 3) / 4 * 4 }

  /// Whether the buffers up to its ends are not larger than every device has.
  var fit: Bool {
    [endOfCoefficients, endOfWork, endOfBytes].allSatisfy { $0 <= GLCommands.maximumStorageSize / 4 }
  }

  /// The workgroups of a step.
  func groups(_ step: JPEGStep) -> Int {
    switch step {
    case .transform: (blocks.count * 8 + JPEGStep.invocations - 1) / JPEGStep.invocations
    case .lengths, .bits: blockGroups
    case .counts: blockGroups
    case .quantisation: (blocks.count * 32 + JPEGStep.invocations - 1) / JPEGStep.invocations
    case .choice, .placesOfBlocks, .placesOfChunks: 1
    case .clearing: (blocks.mostByteWords + JPEGStep.invocations - 1) / JPEGStep.invocations
    case .stuffing, .bytes: chunkGroups
    }
  }

  /// Tells a step's program what it needs.
  func set(_ step: JPEGStep, _ coding: PictureCoding, _ program: borrowing Program) {
    func vector(_ values: Int...) -> SIMD4<Int32> {
      SIMD4(Int32(values[0]), Int32(values[1]), Int32(values[2]), Int32(values[3]))
    }
    program.shader.set(
      "layoutOfBlocks",
      vector(blocks.mcus.width, blocks.lumaPerMCU.width, blocks.lumaPerMCU.height, blocks.count))
    program.shader.set("placesOfBlocks", vector(coefficients, totals, bitsBefore, bitsBeforeGroups))
    program.shader.set("placesOfBytes", vector(bits, stuffingBefore, stuffingBeforeGroups, bytes))
    program.shader.set("capacities", SIMD2(Int32(blocks.mostBitWords), Int32(blocks.mostByteWords)))
    let groupCount =
      switch step {
      case .placesOfBlocks: blockGroups
      case .placesOfChunks: chunkGroups
      default: groups(step)
      }
    program.shader.set("groupCount", groupCount)
    if let budget = coding.scanBudget {
      let lowest = min(PictureCoding.lowestQuality, coding.quality)
      program.shader.set("budget", SIMD3(Int32(budget), Int32(lowest), Int32(coding.quality)))
    } else {
      program.shader.set("budget", SIMD3<Int32>.zero)
    }
    program.shader.set("isCounted", step == .choice(isCounted: true) ? 1 : 0)
    program.shader.set("lumaBlocks", SIMD2(Int32(blocks.luma.width), Int32(blocks.luma.height)))
  }
}
