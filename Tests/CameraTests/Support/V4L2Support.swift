// What the tests of V4L2 sources share: opening one, waiting for what it becomes, and counting what it holds.
import Foundation
import GLPreview
import PreviewCore
import TestSupport
import Testing

/// Waits for things, and does not sleep for them.
extension LiveSource {
  /// Opens a camera that is tried again for as long as the test runs, unless told.
  static func camera(
    _ name: String, delivery: LiveOptions.Delivery = .newest, stallsAfter: Duration = allTheTimeThereIs,
    givesUpAfter: Duration? = nil,
    controls: [CameraControl.Setting] = [], demand: SourceOptions.Demand = SourceOptions.Demand()
  ) async throws -> LiveSource {
    var options = SourceOptions()
    options.live = LiveOptions(
      delivery: delivery, stallsAfter: stallsAfter, reconnectsAfter: allTheTimeThereIs,
      connectsWithin: allTheTimeThereIs, givesUpAfter: givesUpAfter)
    options.controls = controls
    options.demand = demand
    return try #require(try await SourceLocator(name).open(options) as? LiveSource)
  }

  /// The next frame.
  func frame() async throws -> Frame { try #require(try await nextFrame()) }

  /// The first frame from now on that `isWanted`; of the next thousand.
  func frame(where isWanted: (Frame) -> Bool) async throws -> Frame {
    for _ in 0..<1000 {
      let frame = try await frame()
      if isWanted(frame) { return frame }
    }
    throw Waiting(what: "a frame of the wanted kind: \(status)")
  }

  /// Returns as soon as the source is, or was since the call, in `state`.
  @discardableResult
  func reaches(_ state: SourceState) async throws -> SourceStatus {
    for await status in statuses where status.state == state { return status }
    throw Waiting(what: "\(state)")
  }
}

struct Waiting: Error {
  let what: String
}

/// Why a source gives nothing: the error that it gives up with at its first attempt.
func refusal(of name: String, controls: [CameraControl.Setting] = []) async throws -> SourceError {
  let source = try await LiveSource.camera(name, givesUpAfter: .zero, controls: controls)
  let error = await #expect(throws: SourceError.self) { try await source.nextFrame() }
  await source.close()
  return try #require(error)
}

/// What this process holds.
enum Holdings {
  /// Returns when no camera is held: `close()` waits only a limited time for the source's thread.
  static func areGone() async throws { try await until { try cameras == 0 && mappings == 0 } }

  /// Descriptors that lead to a camera, there or gone.
  static var cameras: Int { get throws { try links.count { $0.hasPrefix("/dev/video") } } }

  /// All descriptors.
  static var descriptors: Int { get throws { try links.count } }

  /// Threads.
  static var threads: Int {
    get throws { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count }
  }

  /// Mappings of a camera's memory.
  static var mappings: Int {
    get throws {
      try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n").count {
        $0.contains("/dev/video")
      }
    }
  }

  /// Resident kilobytes.
  static var memory: Int {
    get throws {
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
      return try #require(line.split { !$0.isNumber }.first.flatMap { Int($0) })
    }
  }

  private static var links: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
      }
    }
  }
}

extension Vivid {
  /// Loads the driver anew, with a camera of other inputs, planes or nodes than the machine's, for as long as `body` runs.
  static func with<Result>(
    inputs: Int = 0, multiplanar: Int = 1, nodes: Int = 1, body: (Vivid) async throws -> Result
  ) async throws -> Result {
    func load(inputs: Int, multiplanar: Int, nodes: Int) throws {
      try runProgram("modprobe", "--remove", "vivid")
      try runProgram(
        "modprobe", "vivid", "n_devs=1", "node_types=\(nodes)", "num_inputs=1", "input_types=\(inputs)",
        "multiplanar=\(multiplanar)")
    }
    try load(inputs: inputs, multiplanar: multiplanar, nodes: nodes)
    let result: Swift.Result<Result, any Error>
    do {
      let camera = try #require(try all.first)
      try camera.set("osd_text_mode", 2)
      result = .success(try await body(camera))
    } catch { result = .failure(error) }
    try load(inputs: 0, multiplanar: 1, nodes: 1)
    return try result.get()
  }
}

/// The bars of a frame, as a renderer draws them: one pixel from the middle of each.
func bars<R: Renderer>(_ frame: Frame, by renderer: R, _ tuning: RenderTuning) async throws -> [SIMD3<Double>]
{
  let view = ViewConfiguration(width: 8, height: 1, contentMode: .stretch, filter: .nearest)
  let plan = try RenderPlanner(tuning: tuning).plan(frame.format, [ViewRequest(view, as: .rgba)])
  let bytes = try await renderer.render(frame, plan)[0].bytes
  return (0..<8).map { bar in SIMD3((0..<3).map { Double(bytes[4 * bar + $0]) }) }
}
