// Views that move: what they compile, and what is kept of them.
import Testing

@testable import GLPreview
@testable import PreviewCore

/// A grid that differs for each `step`, and has the same number of nodes.
private func grid(_ step: Int) -> WarpGrid {
  let size = Size(width: 640, height: 360)
  return WarpGrid(
    WarpGrid.Key(
      seen: .translation(x: Double(step), y: 0), map: .homography(Homography(.identity)), target: size,
      orientation: .upright, stored: size))
}

@Suite("Warped views that move", .timeLimit(.minutes(15)))
struct WarpTests {
  @Test(
    "a move of 60 frames compiles no program after the first, whatever the filter",
    arguments: [Picture.Format.rgba, .ycbcr(.yuv420), .video])
  func move(output: Picture.Format) async throws {
    let renderer = try await GLRenderer.open(on: chosenDevice.value)
    let format = Frame.Format(.nv12, Size(width: 320, height: 240), color: .jfif)
    let count = try #require(format.pixelFormat.tightByteCount(of: format.size))
    let frame = try Frame(tight: format, bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) })
    let filters = [Filter.auto, .bicubic, .nearest, .bilinear]
    var programs: Int?
    for step in 0..<60 {
      let view = ViewConfiguration(
        width: 160 + step % 3, height: 90, filter: filters[step % filters.count],
        lens: Lens(.fisheye(), fov: 180),
        projection: Projection(yaw: Double(step) - 30, roll: Double(step), hfov: 60 + Double(step)))
      _ = try await renderer.render(frame, renderer.plan(format, [view], as: output))
      #expect(renderer.programCount == programs ?? renderer.programCount, "frame \(step)")
      programs = renderer.programCount
    }
    await renderer.close()
  }

  @Test(
    "the table of a view that stays is kept while another view moves, whose tables do not accumulate",
    arguments: [false, true])
  func tables(inBuffers: Bool) async throws {
    guard let version = try await chosenDevice.value.driver?.version else { return }
    guard !inBuffers || version >= GLVersion(3, 2) else { return }
    try await withContext {
      let tables = WarpTables(inBuffers: inBuffers)
      let still = try tables.table(of: grid(0))
      #expect(try tables.table(of: grid(0)) === still)
      tables.trim()
      #expect(try tables.table(of: grid(0)) === still)
      var bytes = 0
      for step in 1...200 {
        tables.trim()
        _ = try tables.table(of: grid(step))
        if step == 40 { bytes = tables.byteCount }
      }
      #expect(try tables.table(of: grid(0)) === still)
      #expect(tables.byteCount == bytes)
      tables.removeAll()
      #expect(tables.byteCount == 0)
    }
  }

  @Test(
    "the views of one drawing share the table of their grid, and all tables of a drawing stay until it ends")
  func sharing() async throws {
    try await withContext {
      let tables = WarpTables(inBuffers: false)
      let drawn = try (0..<20).map { try tables.table(of: grid($0)) }
      for (step, table) in drawn.enumerated() { #expect(try tables.table(of: grid(step)) === table) }
    }
  }
}
