// The cameras of a configuration, what is seen of them, and scenes of several.
internal import GLPreview
internal import PreviewCore

extension ServedView {
  /// The view's own words, in the order in which they are set: a width wins over a size that another layer says.
  static let viewKeys = ViewConfiguration.keys
}

extension ConfigurationReading {
  /// The test pattern where there is none.
  mutating func cameras() -> [CameraConfiguration] {
    let names = names(below: ["cameras"])
    guard !names.isEmpty else { return [.testPattern] }
    return names.map { camera($0, ["cameras", $0]) }
  }

  private mutating func camera(_ name: String, _ path: [String]) -> CameraConfiguration {
    var camera = CameraConfiguration(name: name, source: "")
    let folder = folder(of: path + ["source"])
    read(path + ["source"], to: &camera.source) { try Self.source($0, in: folder) }
    if !has(path + ["source"]) { refuse(path, "has no source") }
    readOptions(of: &camera, path)
    read(path + ["keep-warm"], to: &camera.keepsWarm, ConfigurationWords.flag)
    read(path + ["required"], to: &camera.isRequired, ConfigurationWords.flag)
    read(path + ["offline"], to: &camera.offline) { try ConfigurationWords.word($0) }
    let avatarFolder = self.folder(of: path + ["avatar"])
    read(path + ["avatar"], to: &camera.avatar) { try ConfigurationPaths.file($0, in: avatarFolder) }
    let views = names(below: path + ["views"])
    if !views.isEmpty { camera.views = views.map { view($0, path + ["views", $0]) } }
    return camera
  }

  /// A path that no working folder changes later; devices keep their links, which follow what is plugged in.
  private static func source(_ text: String, in folder: String) throws(WordError) -> String {
    guard !text.isEmpty else { throw WordError("is empty") }
    let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    let isAddress = scheme.count > 1 && text[scheme.endIndex...].first == ":"
    guard !isAddress, text != "-", !text.hasPrefix("/dev/") else { return text }
    return try ConfigurationPaths.resolved(text, in: folder)
  }

  private mutating func readOptions(of camera: inout CameraConfiguration, _ path: [String]) {
    var options = camera.options
    read(path + ["input-format"], to: &options.inputFormat) { try ConfigurationWords.word($0) }
    read(path + ["input-size"], to: &options.inputSize, ConfigurationWords.size)
    options.color = ColorOverride(
      matrix: value(path + ["matrix"]) { try ConfigurationWords.word($0) },
      range: value(path + ["range"]) { try ConfigurationWords.word($0) })
    options.controls =
      (values(path + ["controls"], ConfigurationWords.pair(at: "=", "NAME=VALUE")) ?? []).map {
        CameraControlSetting(name: $0.0, value: $0.1)
      }
    options.headers =
      (values(path + ["headers"], ConfigurationWords.pair(at: ":", "'NAME: VALUE'")) ?? []).map {
        HeaderField(name: $0.0, value: $0.1)
      }
    read(path + ["transport"], to: &options.streamTransport) { try ConfigurationWords.word($0) }
    read(path + ["redirects"], to: &options.redirects) { try ConfigurationWords.word($0) }
    options.masks = PrivacyMasks(values(path + ["masks"]) { try PrivacyMask(parsing: $0) } ?? [])
    read(path + ["reference"], to: &options.referenceSize, ConfigurationWords.size)
    if let timeout = value(path + ["timeout"], ConfigurationWords.time) {
      (options.live.connectsWithin, options.live.reconnectsAfter) = (timeout, timeout)
      options.live.stallsAfter = min(options.live.stallsAfter, timeout)
    }
    if let megapixels = value(path + ["max-megapixels"], ConfigurationWords.number(0.001...1000)) {
      options.maximumPixels = Int(megapixels * 1_000_000)
    }
    read(
      path + ["max-picture-bytes"], to: &options.maximumPictureBytes,
      ConfigurationWords.bytes(1024...1 << 30))
    read(path + ["stalls-after"], to: &options.live.stallsAfter, ConfigurationWords.time)
    options.demand.minimumSize = value(path + ["size"], ConfigurationWords.size)
    options.demand.framesPerSecond = value(path + ["fps"], ConfigurationWords.number(0.001...1000))
    options.framesPerSecond = options.demand.framesPerSecond
    camera.options = options
    camera.source = Self.source(camera.source, asking: options.demand)
  }

  /// A session asks cameras for as much as is seen; what is said here is said in the camera's own words, which it keeps.
  private static func source(_ source: String, asking demand: CaptureDemand) -> String {
    guard ["/dev/video", "/dev/v4l/", "pattern:"].contains(where: { source.hasPrefix($0) }) else {
      return source
    }
    var words = source
    if let size = demand.minimumSize, !source.contains(",size=") { words += ",size=\(size)" }
    if let rate = demand.framesPerSecond, !source.contains(",fps=") { words += ",fps=\(rate)" }
    return words
  }

  // MARK: Views

  private mutating func view(_ name: String, _ path: [String]) -> ServedView {
    var served = ServedView(ViewConfiguration(name: name))
    for key in ServedView.viewKeys {
      var view = served.view
      if value(path + [key], { try view.set(key, to: $0) }) != nil { served.view = view }
    }
    checkSizes(path)
    read(path + ["fps"], to: &served.framesPerSecond, ConfigurationWords.number(0.001...1000))
    read(path + ["quality"], to: &served.quality, ConfigurationWords.whole(1...100))
    read(path + ["enabled"], to: &served.isEnabled, ConfigurationWords.flag)
    read(path + ["locked"], to: &served.isLocked, ConfigurationWords.flag)
    return served
  }

  /// A size and a width of one layer contradict one another; of two layers the upper wins.
  private mutating func checkSizes(_ path: [String]) {
    guard let size = speaker(of: path + ["size"])?.layer else { return }
    for key in ["width", "height"] where speaker(of: path + [key])?.layer == size {
      refuse(path + [key], "says the same as size; one of them is enough")
    }
  }

  // MARK: Scenes

  /// Of all cameras, unless tiles are said.
  mutating func scenes(of cameras: [CameraConfiguration]) -> [SceneConfiguration] {
    names(below: ["scenes"]).map { scene($0, ["scenes", $0], of: cameras) }
  }

  private mutating func scene(_ name: String, _ path: [String], of cameras: [CameraConfiguration])
    -> SceneConfiguration
  {
    var scene = Scene(size: Size(width: 1280, height: 720))
    read(path + ["layout"], to: &scene) { try Scene(parsing: $0) }
    scene.tiles =
      values(path + ["tiles"]) { try Tile(parsing: $0) } ?? cameras.map { Tile($0.name) }
    var labels = SceneWords.none
    read(path + ["labels"], to: &labels) { try ConfigurationWords.word($0) }
    if labels.hasNames {
      scene.tiles = scene.tiles.map { tile in
        var tile = tile
        tile.label = Label(name: tile.source)
        return tile
      }
    }
    if labels.hasTime {
      scene.labels = [Label(.time(), background: LabelBackground(), position: .topRight, margin: 16)]
    }
    var served = SceneConfiguration(name: name, scene: scene)
    read(path + ["fps"], to: &served.framesPerSecond, ConfigurationWords.number(0.001...1000))
    read(path + ["quality"], to: &served.quality, ConfigurationWords.whole(1...100))
    return served
  }
}

/// What is written into a scene.
private enum SceneWords: String, CaseIterable {
  case none, names, time, all

  var hasNames: Bool { self == .names || self == .all }
  var hasTime: Bool { self == .time || self == .all }
}
