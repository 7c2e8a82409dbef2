// Where a picture of a view shows the source, and which of its pixels masks of the source hide.
import Testing

@testable import PreviewCore

private let source = Size(width: 400, height: 300)
private let small = Size(width: 120, height: 90)

/// A view of each kind of `small`, at half to twice its scale.
private let views = [
  "a", "a:rotate=90", "a:rotate=180", "a:rotate=270", "a:mirror=horizontal", "a:mirror=both,rotate=90",
  "a:width=60", "a:width=240", "a:size=90x60,mode=stretch", "a:size=75x75,mode=fit",
  "a:size=75x75,mode=fill", "a:size=90x270,mode=inside", "a:crop=45x63+60+10",
  "a:crop=45x63+60+10,rotate=270,mirror=vertical,width=91", "a:size=60x90,rotate=90,mode=fit",
]

/// Masks of `small`.
private let shapes = ["12x9+66+36", "0,0,36,90", "63,24 99,30 78,69", "120x90+0+0", "5x5+105+6"]

/// A grey picture of light samples, with masks of the source drawn into it.
private func picture(of geometry: ViewGeometry, under masks: [PrivacyMask]) throws -> Frame {
  let format = Frame.Format(.grey, geometry.size, color: .jfif)
  let bytes = [UInt8](repeating: 200, count: geometry.size.pixelCount)
  let plan = MaskPlan(masks, shownBy: geometry, format: format)
  return try Frame(tight: format, bytes: bytes).masked(by: plan)
}

@Test("a geometry maps each point of a picture to the source point that is visible there", arguments: views)
func pointsOfGeometry(text: String) throws {
  let view = try ViewConfiguration(parsing: text)
  let geometry = try #require(ViewGeometry(of: view, in: small))
  var (right, wrong) = (0, 0)
  for y in 0..<geometry.size.height {
    for x in stride(from: y % 5, to: geometry.size.width, by: 5) {
      let point = SIMD2(Double(x) + 0.5, Double(y) + 0.5)
      guard let seen = try view.sourcePoint(of: point, in: small) else { continue }
      let mapped = geometry.map(point)
      if max(abs(mapped.x - seen.x), abs(mapped.y - seen.y)) < 1e-9 { right += 1 } else { wrong += 1 }
    }
  }
  #expect(wrong == 0 && right > 100)
}

@Test(
  "a mask hides all pixels that show a part of it, and leaves those that show nothing near it",
  arguments: views, shapes)
func masksByGeometry(text: String, shape: String) throws {
  let view = try ViewConfiguration(parsing: text)
  let mask = try PrivacyMask(parsing: shape)
  let geometry = try #require(ViewGeometry(of: view, in: small))
  let masked = try picture(of: geometry, under: [mask]).bytes
  let hidden = MaskRegion(mask.shape, reference: small, in: Frame.Format(.grey, small, color: .jfif))
  // Wider than any filter spreads at these scales.
  let (inside, near) = (hidden.rows, hidden.grown(by: [30, 30], in: small).rows)
  var wrong = 0
  for y in 0..<geometry.size.height {
    for x in 0..<geometry.size.width {
      let center = SIMD2(Double(x) + 0.5, Double(y) + 0.5)
      guard let point = try view.sourcePoint(of: center, in: small) else { continue }
      let (column, row) = (min(Int(point.x), small.width - 1), min(Int(point.y), small.height - 1))
      let code = masked[y * geometry.size.width + x]
      if inside[row]?.contains(where: { $0.contains(column) }) == true, code != 0 { wrong += 1 }
      if near[row]?.contains(where: { $0.contains(column) }) != true, code != 200 { wrong += 1 }
    }
  }
  #expect(wrong == 0)
}

extension MaskRegion {
  /// The columns of each row.
  fileprivate var rows: [Int: [Range<Int>]] {
    Dictionary(grouping: spans, by: \.row).mapValues { $0.map(\.columns) }
  }
}

@Test("a mask far from a view's crop leaves its picture unchanged, and one around it hides all of it")
func masksBesideCrop() throws {
  let view = ViewConfiguration(crop: Rectangle(x: 100, y: 100, width: 60, height: 40), width: 90)
  let geometry = try #require(ViewGeometry(of: view, in: source))
  let cases: [(String, Set<UInt8>)] = [
    ("50x50+300+200", [200]), ("30x300+0+0", [200]), ("0,0 30,0 30,30", [200]), ("400x300+0+0", [0]),
    ("90,90 180,90 180,150 90,150", [0]),
  ]
  for (shape, codes) in cases {
    let mask = try PrivacyMask(parsing: shape)
    let masked = try picture(of: geometry, under: [mask]).bytes
    #expect(Set(masked) == codes, "\(shape)")
  }
}

@Test("a mask that ends at a crop's edge also hides the pixels into which a filter may have spread it")
func spreadAtEdge() throws {
  for rotation in Rotation.allCases {
    let view = ViewConfiguration(crop: Rectangle(x: 100, y: 100, width: 60, height: 40), rotation: rotation)
    let geometry = try #require(ViewGeometry(of: view, in: source))
    for (shape, x, y) in [("100x300+0+0", 100, 120), ("240x300+160+0", 159, 120), ("400x100+0+0", 130, 100)] {
      let mask = try PrivacyMask(parsing: shape)
      let masked = try picture(of: geometry, under: [mask]).bytes
      let point = try #require(
        try view.picturePoint(of: SIMD2(Double(x) + 0.5, Double(y) + 0.5), in: source))
      #expect(masked[Int(point.y) * geometry.size.width + Int(point.x)] == 0, "\(shape), \(rotation)")
      #expect(Set(masked) == [0, 200], "\(shape), \(rotation)")
    }
  }
}

@Test("pictures that show the source in two places, or not where a map says, have no geometry")
func noGeometry() throws {
  let blurred = try ViewConfiguration(parsing: "a:size=300x300,mode=fit,background=blur")
  #expect(ViewGeometry(of: blurred, in: source) == nil)
  // Without bars, nothing is blurred.
  #expect(ViewGeometry(of: blurred, in: Size(width: 300, height: 300)) != nil)
  let cropped = ViewConfiguration(crop: Rectangle(x: 0, y: 0, width: 401, height: 300))
  #expect(ViewGeometry(of: cropped, in: source) == nil)

  func geometry(_ map: AffineTransform, _ reference: Size = source, _ size: Size = source) -> ViewGeometry? {
    ViewGeometry(reference: reference, size: size, map: map)
  }
  #expect(geometry(.identity) != nil)
  #expect(geometry(AffineTransform(a: 0, b: -2, c: 0.5, d: 0, tx: 7, ty: 9)) != nil)
  #expect(geometry(.rotation(degrees: 10)) == nil)
  #expect(geometry(AffineTransform(a: 1, b: 0, c: 0.1, d: 1, tx: 0, ty: 0)) == nil)
  let scales: [(Double, Double)] = [(0, 1), (1, 0), (0, 0), (.infinity, 1), (.nan, 1)]
  for (x, y) in scales {
    #expect(geometry(.scale(x: x, y: y)) == nil)
  }
  for size in [Size(width: 0, height: 1), Size(width: 1, height: -1), Size(width: 65_536, height: 1)] {
    #expect(geometry(.identity, size) == nil && geometry(.identity, source, size) == nil)
  }
}
