// The golden pictures: made by the reference, looked at, kept; both renderers are held to them.
import Conformance
import Foundation
import GLPreview
import ReferenceRenderer
import Testing

@Suite("Golden pictures")
struct GoldenTests {
  /// `missing` or `all`: pictures are written anew, and the run fails so that nobody takes it for a pass.
  private static let record = ProcessInfo.processInfo.environment["GLPREVIEW_RECORD"]

  @Test("the reference renderer reproduces a golden picture exactly", arguments: GoldenSuite.cases)
  func reference(golden: GoldenCase) async throws {
    let frames = try golden.frames()
    let actual = try await ReferenceRenderer().picture(of: golden.subject, frames, RenderPlanner()).flattened
    let stored = try GoldenFiles.picture(golden.name)

    if GoldenTests.record == "all" || (GoldenTests.record == "missing" && stored == nil) {
      try GoldenFiles.record(actual, as: golden.name)
      Issue.record("recorded \(golden.name).png: look at it before you commit it")
      return
    }

    let expected = try #require(
      stored, "there is no golden picture \(golden.name).png (make golden records it)")
    try expect(golden.name + "-reference", expected: expected, actual: actual, bound: 0)
  }

  @Test("the GPU renders every golden picture within its error bound")
  func gpu() async throws {
    let renderer = try await GLRenderer.open(on: GPUDevice.chooseForGL())
    let planner = RenderPlanner(tuning: renderer.tuning)

    for golden in GoldenSuite.cases {
      let expected = try #require(
        try GoldenFiles.picture(golden.name), "no golden picture \(golden.name).png")
      let actual = try await renderer.picture(of: golden.subject, golden.frames(), planner)
      try expect(golden.name + "-gpu", expected: expected, actual: actual.flattened, bound: golden.bound)
    }

    await renderer.close()
  }

  @Test("every golden picture has a case and at most 16 KiB")
  func noStrays() throws {
    let names = Set(GoldenSuite.cases.map { "\($0.name).png" })
    #expect(names.count == GoldenSuite.cases.count, "two cases have one name")
    let files = try FileManager.default.contentsOfDirectory(atPath: GoldenFiles.folder.path)
    #expect(Set(files) == names)
    for file in files {
      let bytes = try Data(contentsOf: GoldenFiles.folder.appending(path: file)).count
      #expect(bytes <= 16_384, "\(file) has \(bytes) bytes")
    }
  }

  private func expect(_ name: String, expected: Picture, actual: Picture, bound: Int) throws {
    let difference = PictureDifference(expected: expected, actual: actual)
    guard difference.worst > bound else { return }
    let place = try GoldenFiles.leave(name, expected: expected, actual: actual)
    let sample = difference.worstSample.map { "\($0)" } ?? "sizes \(expected.size), \(actual.size)"
    Issue.record("\(name) differs by \(difference.worst), allowed are \(bound): \(sample); see \(place)")
  }
}
