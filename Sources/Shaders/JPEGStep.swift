// The compute shaders that code a drawn picture as JPEG.

/// A step of coding.
package enum JPEGStep: Sendable, Hashable {
  /// Transforms and quantises the blocks, or, within a budget, only transforms them; eight invocations a block.
  case transform(quantises: Bool)
  /// Chooses the qualities that may keep within the budget, at first and after each counting; one invocation.
  case choice(isCounted: Bool)
  /// Counts the bits of the blocks at each of these qualities.
  case counts
  /// Quantises the blocks at the chosen quality.
  case quantisation
  /// Counts the bits of each block.
  case lengths
  /// Adds up the bits of workgroups; one workgroup.
  case placesOfBlocks
  /// Clears the words that bits and bytes are combined into.
  case clearing
  /// Writes the codes of each block.
  case bits
  /// Counts the stuffing of each chunk of the scan.
  case stuffing
  /// Adds up the stuffing of workgroups; one workgroup.
  case placesOfChunks
  /// Copies each chunk to its place.
  case bytes

  /// The steps in their order, each for pictures within a budget, for those without one, or for both.
  package static let all: [(step: JPEGStep, isForBudgets: Bool?)] = [
    (.transform(quantises: true), false), (.transform(quantises: false), true),
    (.choice(isCounted: false), true), (.counts, true), (.choice(isCounted: true), true), (.counts, true),
    (.choice(isCounted: true), true), (.quantisation, true), (.lengths, nil), (.placesOfBlocks, nil),
    (.clearing, nil), (.bits, nil), (.stuffing, nil), (.placesOfChunks, nil), (.bytes, nil),
  ]

  /// All programs.
  package static let programs = all.map(\.step.program).reduce(into: [ProgramKey]()) { programs, program in
    if !programs.contains(program) { programs.append(program) }
  }

  /// The words of a chunk of the scan.
  package static let wordsPerChunk = 16
  /// The invocations of a workgroup, except for those that add up.
  package static let invocations = 64
  /// The qualities whose bits are counted at a time.
  package static let candidates = 10

  /// The step's program.
  package var program: ProgramKey {
    switch self {
    case .transform(let quantises):
      ProgramKey(.coding, .jpegDCT, quantises ? [] : ["KEEPS_FRACTIONS 1"])
    case .choice: ProgramKey(.coding, .jpegChoice, [])
    case .counts: ProgramKey(.coding, .jpegCounts, [])
    case .quantisation: ProgramKey(.coding, .jpegQuantise, [])
    case .lengths: ProgramKey(.coding, .jpegLengths, [])
    case .placesOfBlocks: ProgramKey(.coding, .jpegScan, [])
    case .clearing: ProgramKey(.coding, .jpegClear, [])
    case .bits: ProgramKey(.coding, .jpegBits, [])
    case .stuffing: ProgramKey(.coding, .jpegStuffing, [])
    case .placesOfChunks: ProgramKey(.coding, .jpegScan, ["OF_STUFFING 1"])
    case .bytes: ProgramKey(.coding, .jpegBytes, [])
    }
  }
}
