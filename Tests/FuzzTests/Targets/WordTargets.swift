// Words of views, scenes and masks, as they stand on command lines, in configurations and in URLs.
import PreviewCore

/// Sources of several shapes, small ones among them.
private let sizes = [Size(width: 64, height: 48), Size(width: 1, height: 1), Size(width: 35, height: 77)]

extension FuzzTarget {
  /// A view.
  static let view = FuzzTarget(
    name: "view", longest: 256,
    words: ViewConfiguration.keys.map { $0 + "=" } + [
      "main:", ",", "64x48", "64x", "x48", "16x16+8+8", "0,0,8,8", "90", "-90", "fill", "fit", "stretch",
      "inside", "#102030", "blur", "nearest", "bilinear", "area", "bicubic", "mitchell", "lanczos", "auto",
      "horizontal", "vertical",
      "both", "true", "fisheye ", "pinhole ", "ptlens ", " curve equisolid", " fov 190",
      " matrix 40,41,32,24",
      " distortion 0.1,-0.2", " size 64x48", "flat", "cylinder", "equirectangular", "12.5", "1e308", "nan",
      "1,1 60,4 58,40 3,44",
      "65535", "999999999", "9223372036854775807",
    ],
    seeds: {
      [
        "main", "a:size=32x,filter=lanczos", "b:crop=16x16+8+8,rotate=90,mirror=horizontal,width=5,height=7",
        "c:crop=1,2,3,4,mode=fit,background=#102030,linear=true", "d:size=20x20,mode=inside,background=blur",
        "e:lens=fisheye fov 190,yaw=20,pitch=-100,roll=7,hfov=150,size=20x9",
        "f:lens=pinhole matrix 40,41,32,24 size 64x48 distortion -0.28,0.09,0.001,-0.0007,projection=cylinder",
        "g:corners=1,1 60,4 58,40 3,44,filter=bicubic", "h:rotate=12.5,mode=fit",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      guard let view = try? ViewConfiguration(parsing: String(decoding: input, as: UTF8.self)) else { return }
      try must((1...64).contains(view.name.utf8.count), "name '\(view.name)'")
      for side in [view.width, view.height].compactMap(\.self) {
        try must((1...Size.maximumSide).contains(side), "a side of \(side)")
      }
      let planner = RenderPlanner(maximumPixels: 1 << 14)
      for source in sizes {
        if let point = try? view.sourcePoint(of: [1, 1], in: source) {
          try must(point.x.isFinite && point.y.isFinite, "the point \(point) of a source")
        }
        let grown = view.rescaled(from: source, to: Size(width: source.width * 3, height: source.height * 2))
        try must((grown.crop?.width ?? 1) > 0 && (grown.crop?.height ?? 1) > 0, "an empty crop")
        guard view.crop?.isInside(source) ?? true,
          let size = try? planner.size(of: view, in: source)
        else { continue }
        try must(size.width > 0 && size.height > 0 && size.pixelCount <= 1 << 14, "a picture of \(size)")
        let format = Frame.Format(.i420, source, color: .jfif)
        let requests = [ViewRequest(view, as: .rgba), ViewRequest(view, as: .ycbcr(.yuv420))]
        guard let plan = try? planner.plan(format, requests) else {
          throw FuzzFault("\(view) has the size \(size) but no plan")
        }
        try must(plan.views.count == 2, "\(plan.views.count) plans for two views")
        try must([1, 2, 4, 8].contains(Decoding.fast(for: requests).eighths(of: format)), "odd eighths")
      }
    })

  /// A scene; in further lines its tiles.
  static let scene = FuzzTarget(
    name: "scene", longest: 512,
    words: Set(Scene.keys + Tile.keys).sorted().map { $0 + "=" } + [
      "grid:", "spotlight:", "inset:", "free:", "ann", "ann:", "\n", ",", "64x48", "16:9", "#101418-#203040",
      "blur:ann", "topLeft", "bottomRight", "left", "0.25", "1e308", "nan", "inf", "-1", "16x16+8+8",
      "-9223372036854775808", "9223372036854775807",
    ],
    seeds: {
      [
        "grid:size=64x48,gap=2,radius=3\nann\nben:mode=fit",
        "spotlight:main=1,edge=left,share=0.3\nann\nben\ncat",
        "inset:corner=topLeft,margin=4,radius=2\nann\nben:opacity=0.5",
        "free:size=64x48,background=#101418-#203040\nann:at=16x16+8+8,z=-2,radius=1.5",
        "grid:background=blur:ann,aspect=4:3\nann:crop=8x8+0+0,rotate=90",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      guard var scene = try? Scene(parsing: input.line()) else { return }
      for line in input.lines().prefix(Scene.maximumTiles + 1) {
        guard let tile = try? Tile(parsing: line) else { continue }
        try must((0...1).contains(tile.opacity), "opacity \(tile.opacity)")
        scene.tiles.append(tile)
      }
      let sources = Dictionary(
        scene.tiles.map { ($0.source, SourceAppearance.live) }, uniquingKeysWith: { one, _ in one })
      let time = WallClockTime(secondsSince1970: 1e9)
      guard let composed = try? scene.composed(sources, at: time, text: nil) else { return }
      try must(composed.composition.size == scene.size, "\(scene.size) became \(composed.composition.size)")
    })

  /// A mask.
  static let mask = FuzzTarget(
    name: "mask", longest: 256,
    words: [
      "16x16+8+8", "0,0,8,8", ":fill=#102030", ":pixelate=8", ":blur=8", " ", "-999999,999999", "65535", ",",
    ],
    seeds: {
      [
        "16x16+8+8", "0,0,8,8:fill=#102030", "0,0 40,0 0,40:blur=3", "-5,-5 70,3 50,90 -9,40:pixelate=16",
        "1x1+0+0:fill",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      guard let mask = try? PrivacyMask(parsing: String(decoding: input, as: UTF8.self)) else { return }
      guard let again = try? PrivacyMask(parsing: mask.description), again == mask else {
        throw FuzzFault("'\(mask)' is not read back as it is")
      }
      for size in sizes {
        let format = Frame.Format(
          .i420, size, color: .jfif, orientation: Orientation(swapsAxes: true, flipsX: true))
        guard (try? [mask].check(in: format.uprightSize)) != nil else { continue }
        guard let plan = try? MaskPlan([mask], reference: format.uprightSize, format: format) else {
          throw FuzzFault("'\(mask)' lies in the picture but can't be planned")
        }
        let bytes = [UInt8](repeating: 7, count: size.pixelCount * 3)
        guard let frame = try? Frame(tight: format, bytes: bytes) else {
          throw FuzzFault("no frame of \(size)")
        }
        let masked = frame.masked(by: plan)
        try must(masked.format == frame.format, "masking makes another format")
        if case .fill(let color) = mask.effect, color == .black {
          try must(masked.bytes != frame.bytes, "'\(mask)' hides nothing")
        }
      }
    })
}
