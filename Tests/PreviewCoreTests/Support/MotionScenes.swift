// The scenes of the table in docs/motion.md.

@testable import PreviewCore

extension MotionScene {
  /// Crossings, ten seconds apart, after twenty seconds of nothing.
  private static func crossings(
    _ name: String, side: Float, speed: Float, contrast: Float, noise: Float = 0.6, count: Int = 4,
    isLight: Bool = false
  ) -> MotionScene {
    let taken = Int(((Float(MotionCells.columns) + side) / speed * Float(rate)).rounded(.up))
    let starts = (0..<count).map { 100 + $0 * (taken + 50) }
    var scene = MotionScene(name: name, movements: starts.map { $0..<$0 + taken }, noise: noise)
    scene.length = (starts.last ?? 0) + taken + 50
    scene.draw = { picture, canvas in
      for (number, start) in starts.enumerated() where (start..<start + taken).contains(picture) {
        let way = Float(picture - start) / Float(rate) * speed
        let isBack = number % 2 == 1
        let x = isBack ? Float(MotionCells.columns) - way : way - side
        let (y, contrast) = (12 + Float(number) * 2.3, number % 3 == 2 ? -contrast : contrast)
        if side < 6 || isLight {
          canvas.box(x, y, side, side, contrast: contrast)
        } else {
          canvas.thing(x, y, side, side, contrast: contrast, Texture(seed: 991 + UInt64(number)))
        }
      }
    }
    return scene
  }

  static let moving: [MotionScene] = [
    crossings("2 x 2 cells, contrast 60", side: 2, speed: 6, contrast: 60),
    crossings("3 x 3 cells, contrast 30", side: 3, speed: 6, contrast: 30),
    crossings("4 x 4 cells, contrast 15", side: 4, speed: 6, contrast: 15),
    crossings("6 x 6 cells, contrast 40, slow (1 cell a second)", side: 6, speed: 1, contrast: 40, count: 2),
    crossings("6 x 6 cells, contrast 40, fast (30 cells a second)", side: 6, speed: 30, contrast: 40),
    crossings("14 x 14 cells, contrast 50", side: 14, speed: 10, contrast: 50),
    crossings("24 x 24 cells, contrast 40", side: 24, speed: 12, contrast: 40),
    crossings("4 x 4 cells, contrast 40, noise of 3 a cell", side: 4, speed: 6, contrast: 40, noise: 3),
  ]

  static let still: [MotionScene] = [
    MotionScene(name: "nothing, noise of 0.6 a cell"),
    MotionScene(name: "nothing, noise of 3 a cell", noise: 3),
    MotionScene(name: "nothing, noise of 6 a cell", noise: 6),
    MotionScene(
      name: "clouds: the light swings by 30 % in 20 s", light: { (1 + 0.15 * swing(Float($0) / 100), 0) }),
    MotionScene(name: "dawn: from dark to bright in 80 s", light: { (0.3 + 0.8 * Float($0) / 400, 0) }),
    MotionScene(
      name: "a lamp is switched on and off, three times", light: { $0 / 60 % 2 == 1 ? (1.5, 20) : (0.8, 0) }),
    MotionScene(
      name: "exposure corrects itself in steps",
      light: { (1 + 0.1 * Float($0 / 40 % 5), Float($0 / 40 % 3) * 4) }),
    flicker, rain, heavyRain, heavierRain, tree, lateTree, lateShrub, lamp, softLamp,
    MotionScene(
      name: "the camera is moved, twice", changes: 2,
      shift: { $0 < 150 ? .zero : $0 < 270 ? [9.4, 3.2] : [-6, 1.5] }),
    MotionScene(
      name: "the camera trembles by a tenth of a cell",
      shift: { [0.1 * swing(Float($0) * 0.37), 0.1 * swing(Float($0) * 0.29)] }),
  ]

  /// Bands of 50 Hz lamps in a rolling shutter, which wander.
  private static var flicker: MotionScene {
    var scene = MotionScene(name: "50 Hz flicker in wandering bands of 12 codes")
    scene.draw = { picture, canvas in
      for cell in canvas.cells.indices {
        let row = Float(cell / MotionCells.columns)
        canvas.cells[cell] += 6 * swing(row / 14 + Float(picture) * 0.137)
      }
    }
    return scene
  }

  private static func rain(_ name: String, drops: Int, width: Float) -> MotionScene {
    var scene = MotionScene(name: name)
    scene.draw = { picture, canvas in
      guard picture > 60 else { return }
      for _ in 0..<drops {
        let (x, y) = (canvas.random.uniform() * 64, canvas.random.uniform() * 36)
        canvas.box(x, y, width, 2 + 3 * canvas.random.uniform(), contrast: 50)
      }
    }
    return scene
  }

  private static var rain: MotionScene {
    rain("rain, 300 streaks a picture, a tenth of a cell wide", drops: 300, width: 0.1)
  }
  private static var heavyRain: MotionScene {
    var scene = rain("rain close to the camera, 40 streaks, a quarter wide", drops: 40, width: 0.25)
    scene.mostWrong = 1
    return scene
  }

  /// A crown of 10 x 8 cells whose leaves swing, each at its own pace.
  private static var tree: MotionScene {
    var scene = MotionScene(name: "a tree sways, from the beginning")
    scene.draw = { picture, canvas in
      for row in 10..<18 {
        for column in 40..<50 {
          let pace = 0.11 + Float((row * 7 + column * 13) % 10) * 0.011
          canvas.cells[row * MotionCells.columns + column] +=
            22 * swing(Float(picture) * pace + Float(column) * 0.3)
        }
      }
    }
    return scene
  }

  /// Motion that must be told although something else goes on.
  static let both: [MotionScene] = [
    moving[1].with("3 x 3 cells, contrast 30, in rain", rain),
    moving[2].with("4 x 4 cells, contrast 15, beside a tree", tree),
    moving[3].with("6 x 6 cells, slow, under clouds", still[3]),
    moving[5].with("14 x 14 cells, contrast 50, in 50 Hz flicker", flicker),
    moving[4].with("6 x 6 cells, fast, camera trembling", still[still.count - 1]),
  ]

  /// What shows where it ends.
  static let limits: [MotionScene] = [
    crossings("1 x 1 cell, contrast 60", side: 1, speed: 6, contrast: 60),
    crossings("4 x 4 cells, contrast 6", side: 4, speed: 6, contrast: 6),
    crossings("2 x 2 cells, contrast 60, at 60 cells a second", side: 2, speed: 60, contrast: 60),
    spot, parking,
  ]

  /// The same tree, when wind comes up.
  private static var lateTree: MotionScene {
    var scene = MotionScene(name: "a tree begins to sway in second 30")
    scene.draw = { [sway = tree.draw] picture, canvas in if picture >= 150 { sway(picture, &canvas) } }
    return scene
  }

  /// A wide, low one, faster.
  private static var lateShrub: MotionScene {
    var scene = MotionScene(name: "a shrub of 20 x 5 cells begins to sway, faster")
    scene.draw = { picture, canvas in
      guard picture >= 150 else { return }
      for row in 24..<29 {
        for column in 12..<32 {
          let pace = 0.17 + Float((row * 5 + column * 11) % 9) * 0.02
          canvas.cells[row * MotionCells.columns + column] +=
            16 * swing(Float(picture) * pace + Float(row) * 0.37)
        }
      }
    }
    return scene
  }

  private static var softLamp: MotionScene {
    var scene = MotionScene(name: "a lamp lights the ground 14 cells around it, three times")
    scene.draw = { picture, canvas in
      if picture / 60 % 2 == 1 { canvas.lamp(44, 22, reach: 14, gain: 0.8) }
    }
    return scene
  }

  private static var heavierRain: MotionScene {
    rain("rain close to the camera, 15 streaks, half a cell wide", drops: 15, width: 0.5)
  }

  private static var spot: MotionScene {
    var scene = crossings(
      "a spot of light of 14 x 14 cells wanders", side: 14, speed: 10, contrast: 50, isLight: true)
    scene.movements = []
    return scene
  }

  private static var lamp: MotionScene {
    var scene = MotionScene(name: "a lamp lights a quarter of the picture, three times")
    scene.draw = { picture, canvas in
      if picture / 60 % 2 == 1 { canvas.box(8, 14, 32, 18, contrast: 40) }
    }
    return scene
  }

  /// It drives for six seconds, stands for 40, and leaves.
  private static var parking: MotionScene {
    var scene = MotionScene(
      name: "a car of 10 x 5 cells comes, parks, and leaves", movements: [100..<130, 330..<360])
    scene.length = 420
    scene.draw = { picture, canvas in
      let place =
        picture < 130 ? Float(picture - 100) / 30 : picture < 330 ? 1 : 1 + Float(picture - 330) / 30
      if picture >= 100 { canvas.thing(-10 + 37 * place, 22, 10, 5, contrast: 45, Texture(seed: 997)) }
    }
    return scene
  }

  private func with(_ name: String, _ other: MotionScene) -> MotionScene {
    var scene = MotionScene(name: name, movements: movements, length: length, noise: noise)
    (scene.light, scene.shift) = (other.light, other.shift)
    scene.draw = { [draw] in
      other.draw($0, &$1)
      draw($0, &$1)
    }
    return scene
  }
}

extension MotionScene {
  /// The scene's row in docs/motion.md.
  func row(_ score: MotionScore) -> String {
    func percent(_ share: Double, of count: Int) -> String {
      count == 0 ? "" : "\(Int((share * 100).rounded())) %"
    }
    return "| \(name) | \(score.movements) | \(score.events) | \(score.wrong) | \(score.changes) | "
      + "\(percent(score.precision, of: score.events)) | \(percent(score.recall, of: score.movements)) |"
  }
}

/// What a detector tells of a scene.
struct MotionScore {
  var movements = 0
  /// Movements that an event tells.
  var found = 0
  var events = 0
  /// Events while nothing moves.
  var wrong = 0
  var changes = 0
  /// The sum of what passed until the event was told, in pictures.
  var delay = 0

  var recall: Double { movements == 0 ? 1 : Double(found) / Double(movements) }
  var precision: Double { events == 0 ? 1 : Double(events - wrong) / Double(events) }

  mutating func add(_ scene: MotionScene, seed: UInt64, _ settings: MotionSettings) {
    var detector = MotionDetector(settings)
    var episodes = MotionEpisodes(settings)
    var told: [(at: Int, event: MotionEvent)] = []
    for (picture, cells) in scene.pictures(seed: seed).enumerated() {
      for change in episodes.take(detector.take(cells), at: cells.time) {
        switch change {
        case .started(let event): told.append((picture, event))
        case .sceneChanged: changes += 1
        case .updated(let event), .ended(let event): if !told.isEmpty { told[told.count - 1].event = event }
        }
      }
    }
    movements += scene.movements.count
    events += told.count
    // It ends for an event some pictures after it has left.
    func meets(_ event: MotionEvent, _ movement: Range<Int>) -> Bool {
      event.start <= MotionScene.time(of: movement.upperBound + 2)
        && event.end >= MotionScene.time(of: movement.lowerBound)
    }
    wrong += told.count { tale in !scene.movements.contains { meets(tale.event, $0) } }
    for movement in scene.movements {
      guard let tale = told.first(where: { meets($0.event, movement) }) else { continue }
      found += 1
      delay += max(0, tale.at - movement.lowerBound)
    }
  }
}
