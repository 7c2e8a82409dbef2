// Which kernel a filter comes to along an axis: `area` where a plane shrinks or stays, `bilinear` where it grows
// (DESIGN.md "Rendering semantics", 4; "the ratio is the plane's own").
import PreviewCore
import Testing

private func kernel(_ filter: Filter, _ source: Int, to target: Int, subsampling: Int = 1, step: Int = 1)
  -> Kernel
{
  SamplingMap(
    output: PlacedSpan(target: target, start: 0, length: target, step: step),
    source: CropSpan(start: 0, length: source, subsampling: subsampling),
    window: wholeWindow(source), filter: filter
  ).kernel
}

/// All of a crop of `length`: as a content mode gives it that changes nothing.
private func wholeWindow(_ length: Int) -> SourceWindow {
  Placement(of: Size(width: length, height: 1), width: nil, height: nil, mode: .stretch).windowX
}

@Test(
  "auto and area use a box where a plane shrinks or keeps its size, bilinear where it grows",
  arguments: [Filter.auto, .area])
func boxOrBilinear(filter: Filter) {
  #expect(kernel(filter, 4, to: 3) == .box)
  #expect(kernel(filter, 4, to: 4) == .box)
  #expect(kernel(filter, 4, to: 5) == .bilinear)
  #expect(kernel(filter, 65535, to: 65535) == .box)
  #expect(kernel(filter, 65534, to: 65535) == .bilinear)
}

@Test("every other filter uses its own kernel at any ratio", arguments: [(4, 3), (4, 4), (4, 5)])
func otherFilters(source: Int, target: Int) {
  #expect(kernel(.nearest, source, to: target) == .nearest)
  #expect(kernel(.bilinear, source, to: target) == .bilinear)
  #expect(kernel(.bicubic, source, to: target) == .bicubic)
  #expect(kernel(.mitchell, source, to: target) == .mitchell)
  #expect(kernel(.lanczos, source, to: target) == .lanczos)
}

@Test("the kernel depends on the plane's own ratio, not on the picture's")
func planesOwnRatio() {
  // 8 pixels, 4 chroma samples: to 6 pixels luma shrinks, chroma grows where every pixel wants some of it ...
  #expect(kernel(.auto, 8, to: 6) == .box)
  #expect(kernel(.auto, 8, to: 6, subsampling: 2) == .bilinear)
  // ... and shrinks, 4 to 3, where two pixels share it.
  #expect(kernel(.auto, 8, to: 6, subsampling: 2, step: 2) == .box)
  // From 4:4:4 to 4:2:0 at 1:1 chroma shrinks.
  #expect(kernel(.auto, 8, to: 8, step: 2) == .box)
  // 4:2:0 to 4 pixels: a chroma sample each.
  #expect(kernel(.auto, 8, to: 4, subsampling: 2) == .box)
}

@Test("a fractional window counts exactly: 20/3 rows shrink to 6 pixels and grow to 7")
func fractionalWindow() {
  func kernel(_ height: Int) -> Kernel {
    // A fill of 10 columns to 3k, rows follow: 3x2 sees 20/3 rows.
    let window = Placement(of: Size(width: 10, height: 7), width: 3, height: 2, mode: .fill).windowY
    return SamplingMap(
      output: PlacedSpan(target: height, start: 0, length: height), source: CropSpan(start: 0, length: 7),
      window: window, filter: .auto
    ).kernel
  }

  #expect(kernel(6) == .box)
  #expect(kernel(7) == .bilinear)
}

@Test("Filter cases have the names that view strings use")
func filterNames() {
  let names = ["auto", "nearest", "bilinear", "area", "bicubic", "mitchell", "lanczos"]
  #expect(Filter.allCases.map(\.rawValue) == names)
}
