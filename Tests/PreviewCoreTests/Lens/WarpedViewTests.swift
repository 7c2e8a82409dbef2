// Views with a lens, corners or a free rotation: their keys, what is refused, their sizes, and points both ways.
import TestSupport
import Testing

@testable import PreviewCore

private let source = Size(width: 400, height: 300)

private func parsed(_ words: String) throws -> ViewConfiguration {
  try ViewConfiguration(parsing: "a:\(words)")
}

/// The size of the flattened picture, and that of the view's.
private func sizes(_ words: String, in size: Size = source) throws -> [String] {
  let view = try parsed(words)
  let warp = try #require(try view.warp(in: size))
  return [warp.size.description, try view.shown(in: size).placement.target.description]
}

@Test("yaw, pitch, roll and hfov imply a flat projection, in any order of keys")
func projectionKeys() throws {
  #expect(try parsed("yaw=20").projection == Projection(yaw: 20))
  #expect(
    try parsed("hfov=100,roll=-3,pitch=1.5,yaw=-20,projection=cylinder").projection
      == Projection(.cylinder, yaw: -20, pitch: 1.5, roll: -3, hfov: 100))
  let lens = try parsed("lens=fisheye center 1,2 fov 190,corners=0,0 9,0 9,9 0,9")
  #expect(lens.lens == Lens(.fisheye(), fov: 190, center: [1, 2]))
  #expect(lens.corners?.description == "0,0 9,0 9,9 0,9" && lens.projection == nil)
}

@Test(
  "a rotation is the nearest quarter turn and an angle beyond it",
  arguments: [
    ("12.5", Rotation.none, 12.5), ("102.5", .clockwise90, 12.5), ("45", .none, 45), ("-45", .none, -45),
    ("46", .clockwise90, -44), ("-90", .clockwise270, 0), ("-91", .clockwise270, -1), ("180", .half, 0),
    ("-180", .half, 0), ("359", .none, -1), ("-360", .none, 0), ("360", .none, 0), ("135", .clockwise90, 45),
    ("225", .clockwise270, -45), ("270.0", .clockwise270, 0),
  ])
func anglesOfRotation(text: String, rotation: Rotation, angle: Double) throws {
  let view = try parsed("rotate=\(text)")
  #expect(view.rotation == rotation && view.angle == angle)
  #expect(view.isWarped == (angle != 0))
}

@Test(
  "a view is warped, cropped and not whole with a projection, corners or an angle, but not with a lens alone")
func warpedViews() throws {
  for words in ["yaw=0", "corners=0,0 9,0 9,9 0,9", "rotate=1"] {
    let view = try parsed(words)
    #expect(view.isWarped && view.isCropped && !view.isWhole, "\(words)")
    #expect(ViewGeometry(of: view, in: source) == nil, "\(words)")
  }
  let plain = try parsed("lens=fisheye")
  let warp = try plain.warp(in: source)
  #expect(!plain.isWarped && !plain.isCropped && plain.isWhole && warp == nil)
}

@Test(
  "settings that exclude each other are refused with both names",
  arguments: [
    ("corners=0,0 9,0 9,9 0,9,crop=9x9+0+0", "corners: does not go with crop (view 'a')"),
    ("corners=0,0 9,0 9,9 0,9,yaw=1", "corners: does not go with projection (view 'a')"),
    (
      "corners=0,0 9,0 9,9 0,9,rotate=1",
      "corners: does not go with rotate by other angles than quarter turns (view 'a')"
    ),
    (
      "lens=fisheye,yaw=1,rotate=1",
      "projection: does not go with rotate by other angles than quarter turns: use roll (view 'a')"
    ),
    (
      "rotate=1,filter=lanczos",
      "filter: lanczos does not go with a free rotation: use area, bilinear, bicubic or nearest (view 'a')"
    ),
    (
      "yaw=1,filter=mitchell",
      "filter: mitchell does not go with projection: use area, bilinear, bicubic or nearest (view 'a')"
    ),
    (
      "corners=0,0 9,0 9,9 0,9,linear=true",
      "linear: true does not go with corners: use linear=false (view 'a')"
    ),
    ("yaw=1", "projection: the camera has no lens: give lens=... (view 'a')"),
    (
      "rotate=1,mode=fit,background=blur",
      "background: blur does not go with a free rotation where it leaves bars: use a colour, or mode=fill (view 'a')"
    ),
    ("lens=fisheye,hfov=180", "hfov: 180 is not below 180, as projection=flat requires (view 'a')"),
    ("corners=0,0 900,0 9,9 0,9", "corners: 900,0 is farther outside the picture than its 400x300 pixels"),
    (
      "rotate=1,crop=500x5+0+0",
      "crop: 500x5+0+0 is not inside the picture, which has 400x300 pixels (view 'a')"
    ),
    (
      "lens=fisheye size 400x400,yaw=1",
      "lens: it is for 400x400 pictures, which have another shape than 400x300"
    ),
  ])
func exclusions(words: String, message: String) {
  #expect(refusal { _ = try parsed(words).warp(in: source) } == message)
}

@Test("settings of a warp are refused without a source, with the same words")
func settingsWithoutSource() throws {
  for words in [
    "corners=0,0 9,0 9,9 0,9,crop=9x9+0+0", "yaw=1,filter=mitchell", "yaw=1",
    "lens=fisheye,yaw=1,rotate=1", "rotate=1,mode=fit,background=blur",
    "corners=0,0 9,0 9,9 0,9,size=20x10,mode=fit,background=blur",
  ] {
    let message = refusal { _ = try parsed(words).warp(in: source) }
    let early = refusal { try parsed(words).checkSettings() }
    #expect(message != nil && early == message, "\(words)")
  }
  for words in [
    "lens=fisheye", "filter=lanczos,crop=9x9+0+0", "corners=0,0 900,0 900,900 0,900",
    "corners=0,0 9,0 9,9 0,9,size=20x20,mode=fit,background=blur", "rotate=1,background=blur",
    "lens=fisheye size 400x400,yaw=1,size=20x10,mode=fit,background=blur", "rotate=1,crop=500x5+0+0",
  ] {
    try parsed(words).checkSettings()
  }
}

@Test("a projection gets a camera's lens, unless it has its own; other views stay as they are")
func cameraLenses() throws {
  let lens = Lens(.fisheye(), fov: 190)
  let view = try parsed("yaw=1")
  #expect(view.withLens(lens).lens == lens && view.withLens(nil) == view)
  let own = try parsed("yaw=1,lens=ptlens 0,0,0")
  let plain = try parsed("crop=9x9+0+0")
  #expect(own.withLens(lens) == own && plain.withLens(lens) == plain)
}

@Test(
  "an invalid value is refused, and changes nothing",
  arguments: [
    ("yaw", "361"), ("pitch", "nan"), ("roll", "inf"), ("hfov", "0.5"), ("hfov", "361"),
    ("projection", "round"), ("rotate", "360.5"), ("rotate", "nan"), ("lens", "glass"), ("corners", "1,1"),
  ])
func invalidWarps(key: String, value: String) {
  var view = ViewConfiguration()
  let error = #expect(throws: ParameterError.self) { try view.set(key, to: value) }
  #expect(error?.key == key && view == ViewConfiguration())
}

@Test("numbers of a view that were not parsed are checked when it is used")
func unparsedWarps() {
  let lens = Lens(.fisheye())
  let views = [
    ViewConfiguration(angle: .nan), ViewConfiguration(angle: 46),
    ViewConfiguration(lens: lens, projection: Projection(yaw: .nan)),
    ViewConfiguration(lens: lens, projection: Projection(hfov: 0)),
    ViewConfiguration(lens: lens, projection: Projection(.cylinder, pitch: .infinity)),
  ]
  for view in views {
    #expect(throws: ParameterError.self) { try view.warp(in: source) }
  }
}

@Test("a rotated view has the largest part of the crop's shape in modes that fill, and all of it in others")
func rotatedSizes() throws {
  #expect(try sizes("rotate=30") == ["260x195", "260x195"])
  #expect(try sizes("rotate=30,mode=stretch,size=80x90") == ["260x195", "80x90"])
  #expect(try sizes("rotate=30,mode=fit") == ["497x460", "497x460"])
  #expect(try sizes("rotate=-30,mode=inside,width=248") == ["497x460", "248x230"])
  #expect(try sizes("rotate=120") == ["260x195", "195x260"])
  #expect(try sizes("rotate=45,crop=300x300+10+0") == ["212x212", "212x212"])
}

@Test("corners are as large as the longer of each two sides, and then placed like a crop")
func cornerSizes() throws {
  let corners = "corners=110,20 330,44 322,110 104,81"
  #expect(try sizes(corners) == ["221x66", "221x66"])
  #expect(try sizes(corners + ",rotate=90,width=33") == ["221x66", "33x111"])
  #expect(try sizes(corners + ",size=100x100,mode=fit") == ["221x66", "100x100"])
}

@Test("a projected picture has the target's shape; without a size, the scale of the source's middle")
func projectedSizes() throws {
  let square = Size(width: 1000, height: 1000)
  #expect(try sizes("lens=fisheye,yaw=1,size=320x180", in: square) == ["320x180", "320x180"])
  #expect(try sizes("lens=fisheye,yaw=1,size=320x180,rotate=90", in: square) == ["180x320", "320x180"])
  // 318.3 pixels a radian: 2 f tan(45°), at 16:9.
  #expect(try sizes("lens=fisheye,yaw=1", in: square) == ["637x358", "637x358"])
  #expect(try sizes("lens=fisheye,yaw=1,width=320", in: square) == ["320x180", "320x180"])
  #expect(try sizes("lens=fisheye,hfov=170", in: square) == ["1000x563", "1000x563"])
  #expect(try sizes("lens=fisheye,projection=cylinder", in: square) == ["1000x563", "1000x563"])
  #expect(try sizes("lens=fisheye,projection=equirectangular,hfov=90", in: square)[0] == "500x250")
  #expect(try sizes("lens=pinhole fov 90,projection=flat") == ["400x300", "400x300"])
}

@Test("a projected picture with one requested side has its shape in each field of view")
func projectedShapes() throws {
  let small = Size(width: 100, height: 100)
  for field in [1, 2, 3, 60, 170] {
    let words = "lens=fisheye,hfov=\(field)"
    #expect(try sizes("\(words),width=320", in: small) == ["320x180", "320x180"], "\(field)")
    #expect(try sizes("\(words),height=180,rotate=90", in: small) == ["180x101", "101x180"], "\(field)")
    #expect(try sizes("\(words),height=50,projection=equirectangular", in: small)[1] == "100x50", "\(field)")
    #expect(try sizes("lens=pinhole,hfov=\(field),width=200")[1] == "200x150", "\(field)")
  }
}

@Test("a projected picture without a size is the largest in the widest field of view")
func projectedFields() throws {
  for words in [
    "lens=fisheye", "lens=fisheye,projection=cylinder", "lens=fisheye,projection=equirectangular",
    "lens=pinhole fov 90", "lens=pinhole fov 90,projection=cylinder",
  ] {
    var last = 0
    for field in 1..<180 {
      let count = try parsed("\(words),hfov=\(field)").shown(in: source).placement.target.pixelCount
      #expect(count >= last, "\(words), \(field)")
      last = count
    }
  }
}

@Test("an undistorted picture of a lens without distortion is the source")
func identicalProjection() throws {
  let warp = try #require(
    try parsed("lens=pinhole matrix 300,300,199.5,149.5,projection=flat").warp(in: source))
  #expect(warp.size == source)
  var random = SeededGenerator(seed: 7)
  for _ in 0..<50 {
    let point = random.point(in: source)
    #expect(distance(warp.map.position(of: point), point) < 1e-9)
  }
}

@Test("a clockwise rotation shows the source's points turned clockwise about the crop's centre")
func rotatedPoints() throws {
  let view = try parsed("rotate=30,crop=400x300+20+10")
  let large = Size(width: 500, height: 400)
  #expect(distance(try view.sourcePoint(of: [130, 97.5], in: large), [220, 160]) < 1e-9)
  #expect(distance(try view.sourcePoint(of: [0, 0], in: large), [58.66669751, 140.56252313]) < 1e-6)
  // A point to the right of the centre is seen below it, too.
  let seen = try #require(try view.picturePoint(of: [260, 160], in: large))
  #expect(seen.x > 130 && seen.y > 97.5 + 19)
}

@Test("corners are shown at the picture's corners, also turned and mirrored")
func cornerPoints() throws {
  let corners = "corners=110,20 330,44 322,110 104,81,size=220x66"
  #expect(distance(try parsed(corners).sourcePoint(of: [0, 0], in: source), [110, 20]) < 1)
  let mirrored = try parsed(corners + ",mode=stretch,mirror=horizontal")
  #expect(distance(try mirrored.sourcePoint(of: [220, 0], in: source), [110, 20]) < 1e-6)
  let half = try parsed(corners + ",mode=stretch,rotate=180")
  #expect(distance(try half.sourcePoint(of: [220, 66], in: source), [110, 20]) < 1e-6)
  #expect(distance(try half.picturePoint(of: [110, 20], in: source), [220, 66]) < 1e-6)
}

@Test(
  "points of a picture and of the source lead to each other through each kind of warp",
  arguments: [
    "rotate=12.5", "rotate=100,crop=200x100+50+60,size=80x90", "rotate=-30,mode=fit,mirror=vertical",
    "corners=110,20 330,44 322,110 104,81,size=300x90,mode=fit", "corners=330,44 110,20 104,81 322,110",
    "lens=fisheye,yaw=20,pitch=-10,size=160x90", "lens=fisheye,yaw=-20,roll=30,rotate=270,mirror=both",
    "lens=fisheye curve stereographic fov 200,projection=cylinder,hfov=120",
    "lens=fisheye,projection=equirectangular,crop=300x200+50+50",
    "lens=pinhole matrix 300,300,199.5,149.5 distortion -0.2,0.05,0.001,0.0005,projection=flat",
    "lens=ptlens 0.01,-0.02,0.005 fov 70,projection=flat,width=200",
  ])
func warpedPoints(words: String) throws {
  let view = try parsed(words)
  let shown = try view.shown(in: source)
  let (width, height) = (Double(shown.placement.target.width), Double(shown.placement.target.height))
  var visible = 0
  for row in 0..<12 {
    for column in 0..<12 {
      let part = SIMD2(Double(column) + 0.5, Double(row) + 0.5) / 12
      let point = part * SIMD2(width, height)
      guard let position = try view.sourcePoint(of: point, in: source) else { continue }
      visible += 1
      let crop = shown.crop
      let beyond = max(
        Double(crop.x) - position.x, Double(crop.y) - position.y,
        position.x - Double(crop.x + crop.width), position.y - Double(crop.y + crop.height))
      #expect(beyond < 1e-5, "\(point) \(position)")
      // At the edge, rounding decides whether it is visible.
      guard let back = try view.picturePoint(of: position, in: source) else { continue }
      #expect(distance(back, point) < 1e-5, "\(point) \(position)")
    }
  }
  #expect(visible > 50)
}

@Test("points outside the crop, the source or the picture have no counterpart")
func hiddenPoints() throws {
  let fitted = try parsed("rotate=30,mode=fit")
  #expect(try fitted.sourcePoint(of: [1, 1], in: source) == nil)
  #expect(try fitted.sourcePoint(of: [-1, 200], in: source) == nil)
  let cropped = try parsed("rotate=10,crop=100x100+50+50")
  #expect(try cropped.picturePoint(of: [200, 100], in: source) == nil)
  #expect(try cropped.picturePoint(of: [51, 51], in: source) == nil)
  let away = try parsed("lens=fisheye,yaw=90,hfov=60")
  #expect(try away.picturePoint(of: [200, 150], in: source) == nil)
}

@Test("a warped view of a source of another size shows the same part")
func rescaledWarps() throws {
  let reference = Size(width: 800, height: 600)
  let views = [
    "corners=220,40 660,88 644,220 208,162,size=300x90,mode=stretch", "rotate=12.5,size=80x60",
    "lens=fisheye center 390,310 radius 290,yaw=20,size=160x90",
    "lens=pinhole matrix 600,600,399.5,299.5 distortion -0.2,yaw=5,size=160x120",
  ]
  for words in views {
    let whole = try parsed(words)
    let half = whole.rescaled(from: reference, to: source)
    for point: SIMD2<Double> in [[20, 20], [50, 40], [70, 15]] {
      let position = try #require(try whole.sourcePoint(of: point, in: reference), "\(words)")
      #expect(distance(try half.sourcePoint(of: point, in: source), position / 2) < 1, "\(words)")
    }
  }
  #expect(
    try parsed("lens=fisheye center 9,9,yaw=1").rescaled(from: reference, to: source).lens?.size == reference)
  #expect(try parsed("lens=fisheye,yaw=1").rescaled(from: reference, to: source).lens?.size == nil)
}

@Test("rescaled corners are rounded towards their middle")
func rescaledCorners() throws {
  let corners = try parsed("corners=1,1 8,1 8,8 1,8")
    .rescaled(from: Size(width: 10, height: 10), to: Size(width: 5, height: 15)).corners
  #expect(corners?.description == "1,2 4,2 4,12 1,12")
}
