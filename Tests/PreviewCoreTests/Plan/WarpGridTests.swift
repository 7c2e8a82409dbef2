// The positions of warped views beside the exact ones.
import TestSupport
import Testing

@testable import PreviewCore

@Suite("Grids of warps")
struct WarpGridTests {
  private static let source = Size(width: 640, height: 480)

  /// Views whose grids have cells of different sizes.
  private static func view(_ random: inout SeededGenerator) -> ViewConfiguration {
    func number(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &random) }
    var view = ViewConfiguration(
      width: Int.random(in: 1...400, using: &random), height: Int.random(in: 1...300, using: &random),
      contentMode: .stretch)
    switch Int.random(in: 0..<3, using: &random) {
    case 0: view.angle = number(-45...45)
    case 1:
      view.corners = Corners(
        topLeft: [Int(number(0...200)), Int(number(0...150))],
        topRight: [Int(number(440...640)), Int(number(0...150))],
        bottomRight: [Int(number(440...640)), Int(number(330...480))],
        bottomLeft: [Int(number(0...200)), Int(number(330...480))])
    default:
      view.lens = Lens(.curve(.equidistant), fov: number(120...200))
      view.projection = Projection(
        Bool.random(using: &random) ? .flat : .equirectangular, yaw: number(-180...180),
        pitch: number(-60...60), roll: number(-180...180), hfov: number(20...140))
    }
    return view
  }

  @Test(
    "positions are exact to a part of a pixel, and a cell without a picture shows no position of it",
    arguments: 0..<60)
  func exact(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let view = Self.view(&random)
    let shown = try view.shown(in: Self.source)
    let warp = try #require(shown.warp)
    let seen = shown.placement.map(.upright, of: warp.size)
    let target = shown.placement.target
    let grid = WarpGrid(
      WarpGrid.Key(
        seen: seen, map: warp.map, target: target, orientation: .upright, stored: Self.source))
    let unit = Double(WarpGrid.outputUnit)

    var (worst, hidden) = (0.0, 0)
    for _ in 0..<2000 {
      let point = SIMD2(
        Int.random(in: 0..<WarpGrid.outputUnit * target.width, using: &random),
        Int.random(in: 0..<WarpGrid.outputUnit * target.height, using: &random))
      let exact = warp.map.position(of: seen(SIMD2(Double(point.x), Double(point.y)) / unit))
      let isInside = exact.map { (0..<640).contains($0.x) && (0..<480).contains($0.y) } ?? false
      let ratio = grid.ratio(at: point)
      guard let exact, ratio.x > 0 else {
        if isInside { hidden += 1 }
        continue
      }
      // 255 stands for all larger ratios.
      guard isInside, ratio.x < 255, ratio.y < 255 else { continue }
      let position = grid.position(at: point)
      let error = SIMD2(Double(position.x), Double(position.y)) / Double(WarpGrid.unit) - exact
      // A position is rounded three times, by half of 1/256 each.
      let allowed = Double(max(ratio.x, ratio.y, 32)) / 16 / 256 + 1.5 / 256
      worst = max(worst, max(abs(error.x), abs(error.y)) / allowed)
    }
    // The smallest cells, as of targets of few pixels, are as exact as they can be: to a part of an output.
    #expect(worst < (grid.shift > 1 ? 1.5 : 100), "\(view), cells of \(1 << grid.shift)")
    #expect(hidden == 0, "\(view), cells of \(1 << grid.shift)")
  }

  @Test(
    "a flat view of nearly 180 degrees shows the source all around its centre, at any size",
    arguments: [(Size(width: 5472, height: 3648), 178.0), (Size(width: 64, height: 36), 179.0)]
      as [(Size, Double)])
  func widest(target: Size, hfov: Double) throws {
    var view = ViewConfiguration(width: target.width, height: target.height, contentMode: .stretch)
    view.lens = Lens(.curve(.equidistant), fov: 182)
    view.projection = Projection(hfov: hfov)
    let source = Size(width: 4096, height: 4096)
    let shown = try view.shown(in: source)
    let warp = try #require(shown.warp)
    let grid = WarpGrid(
      WarpGrid.Key(
        seen: shown.placement.map(.upright, of: warp.size), map: warp.map, target: shown.placement.target,
        orientation: .upright, stored: source))

    // The part of the picture that the source fills bends most around the axis.
    for row in stride(from: 0, to: target.height, by: 2) {
      for column in stride(from: 0, to: target.width, by: 2) {
        let point = SIMD2(column, row) &* WarpGrid.outputUnit
        if grid.ratio(at: point).x == 0 {
          Issue.record("\(column),\(row) shows nothing, by cells of \(1 << grid.shift)")
          return
        }
      }
    }
  }

  @Test("grids of equal views are equal, and have the fewest nodes that are exact enough")
  func cells() throws {
    func grid(_ view: ViewConfiguration) throws -> WarpGrid {
      let shown = try view.shown(in: Self.source)
      let warp = try #require(shown.warp)
      return WarpGrid(
        WarpGrid.Key(
          seen: shown.placement.map(.upright, of: warp.size), map: warp.map, target: shown.placement.target,
          orientation: .upright, stored: Self.source))
    }
    let turned = ViewConfiguration(width: 320, height: 240, angle: 10)
    #expect(try grid(turned) == grid(turned))
    // A rotation is the same in all cells.
    #expect(try grid(turned).shift == 4)
    var fisheye = ViewConfiguration(width: 320, height: 240, lens: Lens(.curve(.equidistant)))
    fisheye.projection = Projection(hfov: 120)
    #expect(try grid(fisheye).shift < 4)
    #expect(try grid(fisheye) != grid(turned))
  }
}
