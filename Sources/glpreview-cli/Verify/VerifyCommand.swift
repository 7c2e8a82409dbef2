// `glpreview verify`: checks this machine's driver against the reference renderer.
import ArgumentParser
import Conformance
import GLPreview

struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compare this machine's renderer with the reference renderer.",
    discussion: """
      Renders several hundred small pictures, of every format, filter, mode and orientation, on the GPU, or on the CPU \
      where there is none, and again in double precision, as the definition says. Copies must be identical; other results may differ by 1 of 255 in any channel. \
      JPEGs that a GPU codes must be the CPU's, byte for byte.

      Exit status: 0 all results are within the bounds, 1 a bound is exceeded, 69 no device works.
      """)

  @OptionGroup var deviceOptions: DeviceOptions

  @Option(help: ArgumentHelp("The number of additional random cases.", valueName: "N"))
  var random = 0

  @Option(help: ArgumentHelp("The seed of the random cases.", valueName: "N"))
  var seed: UInt64 = 1

  @Flag(help: "Print one JSON object per group.")
  var json = false

  func validate() throws {
    guard (0...1_000_000).contains(random) else {
      throw ValidationError("--random \(random) is not within 0...1000000")
    }
  }

  func run() async throws {
    try await ExitStatus.of {
      let device = try await GPUDevice.choose(deviceOptions.gpu)
      var tuning = device.tuning
      // Each case is drawn twice: with the programs for all ratios, then with one specialised for its own.
      tuning.specialisesAfter = 1
      let renderer = try await Renderers.open(on: device, tuning: tuning)
      if !json { try StandardOutput.print("device \(device)\n") }
      var groups = try await tally(of: renderer)
      await renderer.close()
      if let coding = device.tuningForCoding { try await check(coding, of: device, &groups) }
      if json {
        for group in groups.all { try StandardOutput.print(group.jsonLine()) }
      } else {
        try StandardOutput.print(groups.table.description)
        try StandardOutput.print(
          groups.isWhole ? "\nall bounds are kept" : "\nbounds are BROKEN: do not trust this device")
      }
      guard groups.isWhole else { throw ExitCode.failure }
    }
  }
}

extension VerifyCommand {
  /// Random cases, of which every fourth is warped.
  private var additional: [ConformanceCase] {
    let warped = random / 4
    return ConformanceSuite.mixed(count: random - warped, seed: seed)
      + ConformanceSuite.warped(count: warped, seed: seed)
  }

  private func tally(of renderer: some DeviceRenderer) async throws -> GroupTally {
    let run = ConformanceRun(renderer, tuning: renderer.tuning)
    var groups = GroupTally()
    for conformanceCase in ConformanceSuite.cases + additional {
      let result = try await run.result(of: conformanceCase)
      groups.add(result)
      guard !result.isWithinBound else { continue }
      let place = result.difference.worstSample.map { ", \($0)" } ?? ""
      StandardError.print("broken: \(conformanceCase)\(place)")
    }
    return groups
  }

  /// Checks the JPEGs that the device codes.
  private func check(_ tuning: RenderTuning, of device: GPUDevice, _ groups: inout GroupTally) async throws {
    let renderer = try await Renderers.open(on: device, tuning: tuning)
    let planner = RenderPlanner(tuning: tuning)
    let cases = try CodingSuite.cases(count: Self.codedPictures + random, seed: seed)
    for codingCase in [try CodingSuite.large] + cases {
      let plan = try planner.plan(codingCase.frame.format, codingCase.requests)
      let pictures = try await renderer.render(codingCase.frame, plan)
      if await renderer.refusesCoding {
        StandardError.print("the driver refuses a shader that codes JPEGs: the CPU codes them")
        break
      }
      let mistake = try codingCase.mistake(in: pictures)
      groups.addCoded(byteCount: pictures[0].scan?.bytes.count ?? 0, isBroken: mistake != nil)
      if let mistake { StandardError.print("broken: the JPEG of \(codingCase) \(mistake)") }
    }
    await renderer.close()
  }

  private static let codedPictures = 40
}

/// The results of one group of cases.
private struct Group: Codable {
  let group: String
  /// The largest allowed difference.
  var bound: Int
  var cases = 0
  var broken = 0
  /// The largest difference found.
  var worst = 0
  /// The numbers of channels that differ at all, and of channels compared.
  var differing = 0
  var compared = 0
}

/// Groups in order of first appearance.
private struct GroupTally {
  private(set) var all: [Group] = []

  var isWhole: Bool { all.allSatisfy { $0.broken == 0 } }

  mutating func add(_ result: ConformanceResult) {
    let (name, bound) = (result.conformanceCase.group, result.conformanceCase.bound)
    let index = all.firstIndex { $0.group == name } ?? all.endIndex
    if index == all.endIndex { all.append(Group(group: name, bound: bound)) }
    all[index].cases += 1
    all[index].broken += result.isWithinBound ? 0 : 1
    all[index].worst = max(all[index].worst, result.difference.worst)
    all[index].differing += result.difference.differing
    all[index].compared += result.difference.compared
  }

  /// Adds a JPEG that a device has coded.
  mutating func addCoded(byteCount: Int, isBroken: Bool) {
    if all.last?.group != "jpeg" { all.append(Group(group: "jpeg", bound: 0)) }
    let index = all.endIndex - 1
    all[index].cases += 1
    all[index].compared += byteCount
    guard isBroken else { return }
    all[index].broken += 1
    all[index].differing += max(byteCount, 1)
    all[index].worst = 255
  }

  var table: TextTable {
    TextTable(
      [["GROUP", "CASES", "WORST", "BOUND", "DIFFERING", ""]]
        + all.map { group in
          let share = Double(group.differing) * 1e6 / Double(max(1, group.compared))
          return [
            group.group, "\(group.cases)", "\(group.worst)", "\(group.bound)",
            "\(group.differing) of \(group.compared) (\(Int(share)) ppm)",
            group.broken == 0 ? "ok" : "BROKEN",
          ]
        })
  }
}
