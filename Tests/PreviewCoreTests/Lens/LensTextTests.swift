// The text form of lenses and corners: every key, and everything that must be refused with a reason.
import PreviewCore
import Testing

@Test(
  "a lens's description is the text that it was parsed from",
  arguments: [
    "fisheye", "fisheye fov 190", "fisheye curve equidistant",
    "fisheye curve equisolid fov 185 center 1440,1432 radius 1400",
    "fisheye distortion -0.01,0.002,0,0 matrix 498.2,498.3,639.5,359.5 size 1280x720",
    "pinhole", "pinhole distortion -0.28,0.12,0.0005,-0.0008,-0.02 matrix 900,905,640,358",
    "pinhole distortion 1e-05 fov 70.5", "ptlens 0.01,-0.02,0.005 fov 70", "ptlens 0,0,0 center 10.5,-3",
  ])
func lensTexts(text: String) throws {
  let lens = try Lens(parsing: text)
  #expect(lens.description == text)
  #expect(try Lens(parsing: lens.description) == lens)
}

@Test("a lens's keys may be in any order, and each sets its value")
func lensKeys() throws {
  let lens = try Lens(parsing: "pinhole size 1280x720  distortion 1,2,3 matrix 10,20,30,40")
  #expect(
    lens
      == Lens(
        .pinhole(distortion: [1, 2, 3]), matrix: Lens.Matrix(fx: 10, fy: 20, cx: 30, cy: 40),
        size: Size(width: 1280, height: 720)))
  #expect(
    try Lens(parsing: "fisheye radius 5 curve stereographic center 1,2 fov 200")
      == Lens(.curve(.stereographic), fov: 200, center: [1, 2], radius: 5))
}

@Test(
  "an invalid lens is refused with a reason",
  arguments: [
    ("", "'' does not begin with fisheye, pinhole, ptlens"),
    ("fish fov 180", "'fish fov 180' does not begin with fisheye, pinhole, ptlens"),
    ("fisheye zoom 2", "unknown key 'zoom' (known: curve, matrix, size, distortion, fov, center, radius)"),
    ("fisheye fov", "fov has no value"),
    ("fisheye fov 180 fov 190", "fov is given twice"),
    ("fisheye fov wide", "fov 'wide' is not a number"),
    ("fisheye fov nan", "fov 'nan' is not a number"),
    ("fisheye fov 361", "fov 361 is not from 1 to 360"),
    ("fisheye curve orthographic fov 181", "fov 181 is not from 1 to 180"),
    ("fisheye curve stereographic fov 360", "fov 360 is not from 1 to 359"),
    ("pinhole fov 180", "fov 180 is not from 1 to 179"),
    ("pinhole curve equisolid", "curve goes with fisheye, without distortion"),
    (
      "fisheye curve round",
      "curve 'round' is not one of equidistant, equisolid, stereographic, orthographic"
    ),
    (
      "fisheye curve equisolid distortion 1",
      "distortion goes with pinhole, or with fisheye without curve"
    ),
    ("fisheye distortion 1,2,3,4,5", "distortion '1,2,3,4,5' is not K1,K2,K3,K4"),
    ("fisheye distortion 1,,2", "distortion '1,,2' is not K1,K2,K3,K4"),
    ("fisheye distortion inf", "distortion 'inf' is not K1,K2,K3,K4"),
    ("fisheye distortion 1e7", "distortion 10000000 is not from -1000000 to 1000000"),
    ("pinhole matrix 1,2,3", "matrix '1,2,3' is not FX,FY,CX,CY"),
    ("pinhole matrix 0,5,1,1", "focal length 0 is not from 0.1 to 10000000"),
    (
      "pinhole matrix 5,5,1,1 fov 60",
      "fov, center and radius do not go with matrix, which contains them"
    ),
    ("pinhole radius 100", "radius is that of a fisheye's image circle: use fov"),
    ("fisheye radius 0", "radius 0 is not from 0.1 to 1000000"),
    ("fisheye center 5", "center '5' is not X,Y"),
    ("fisheye size 5", "size '5' is not WxH, such as 640x360, with sides from 1 to 65535"),
    ("ptlens", "ptlens '' is not A,B,C"), ("ptlens 1,2", "ptlens '1,2' is not A,B,C"),
  ])
func lensRefusals(text: String, reason: String) {
  #expect(refusal { _ = try Lens(parsing: text) } == "lens: \(reason)")
}

@Test("a lens that was not parsed is checked when it is used")
func lensChecks() {
  let size = Size(width: 64, height: 48)
  let lenses: [(Lens, String)] = [
    (Lens(.fisheye(distortion: [.nan])), "distortion nan is not from -1000000 to 1000000"),
    (Lens(.fisheye(distortion: [0, 0, 0, 0, 0])), "distortion has 5 numbers, the model at most 4"),
    (Lens(.fisheye(), fov: .infinity), "fov inf is not from 1 to 360"),
    (Lens(.fisheye(), size: Size(width: 0, height: 5)), "width 0 is not from 1 to 65535"),
  ]
  for (lens, reason) in lenses {
    #expect(refusal { _ = try LensMap(lens, in: size) } == "lens: \(reason)")
  }
}

@Test("corners are four points, as masks write polygons")
func cornerTexts() throws {
  let corners = try Corners(parsing: "410,220 630,244 622,310 -4,281")
  #expect(
    corners
      == Corners(
        topLeft: [410, 220], topRight: [630, 244], bottomRight: [622, 310], bottomLeft: [-4, 281]))
  #expect(corners.description == "410,220 630,244 622,310 -4,281")
  // The other direction shows the picture mirrored.
  #expect(try Corners(parsing: "9,0 0,0 0,9 9,9").topLeft == [9, 0])
}

@Test(
  "invalid corners are refused with a reason",
  arguments: [
    ("0,0 9,0 9,9", "'0,0 9,0 9,9' has 3 points: use X,Y X,Y X,Y X,Y"),
    ("0,0 9,0 9,9 0,x", "'0,x' is not a point X,Y of whole numbers from -999999 to 999999"),
    ("0,0 9,0 9 0,9", "'9' is not a point X,Y of whole numbers from -999999 to 999999"),
    ("0,0 5,0 9,0 0,9", "'0,0 5,0 9,0 0,9': three of the points lie on a line"),
    ("0,0 0,0 9,9 0,9", "'0,0 0,0 9,9 0,9': three of the points lie on a line"),
    (
      "0,0 9,9 9,0 0,9",
      "'0,0 9,9 9,0 0,9' is not convex: give top left, top right, bottom right and bottom left, in this order"
    ),
    (
      "0,0 9,0 1,1 0,9",
      "'0,0 9,0 1,1 0,9' is not convex: give top left, top right, bottom right and bottom left, in this order"
    ),
  ])
func cornerRefusals(text: String, reason: String) {
  #expect(refusal { _ = try Corners(parsing: text) } == "corners: \(reason)")
}
