// The JSON answers of `/api/cameras`: cameras, views and the device.
internal import GLPreview

/// Everything that is served, and the device.
struct CamerasAnswer: Encodable {
  let cameras: [CameraAnswer]
  /// Nil while no renderer works.
  let device: DeviceAnswer?
  /// Why no renderer works; nil if one does.
  let deviceFailure: String?
  let version: String
  let role: String

  private enum CodingKeys: String, CodingKey {
    case cameras, device, version, role
    case deviceFailure = "device_failure"
  }
}

/// The rendering device.
struct DeviceAnswer: Encodable {
  let name: String
  let vendor: String?
  let software: Bool
}

/// A camera, or a scene.
struct CameraAnswer: Encodable {
  let name: String
  let kind: String
  let state: String
  let since: String
  let reason: String?
  let source: String?
  let format: FormatAnswer?
  /// The upright size, in whose pixels crops are; nil before the first frame.
  let width: Int?
  let height: Int?
  let fps: Double
  let required: Bool
  let counters: SourceStatus.Counters?
  let views: [ViewAnswer]
}

/// The camera's capture format.
struct FormatAnswer: Encodable {
  let format: String
  let width: Int?
  let height: Int?
  let fps: Double?
  let transport: String

  init(_ mode: SourceStatus.Mode) {
    format = mode.format
    width = mode.size?.width
    height = mode.size?.height
    fps = mode.framesPerSecond.map(rounded)
    transport = mode.transport
  }
}

/// A view.
struct ViewAnswer: Encodable {
  let name: String
  let width: Int?
  let height: Int?
  let crop: String?
  let rotate: Int
  let mirror: String
  let mode: String
  let background: String
  let filter: String
  let fpsLimit: Double?
  let fps: Double
  let enabled: Bool
  let locked: Bool
  let quality: Int
  let clients: Int
  let watchers: [WatcherAnswer]?
  let urls: ViewAddresses

  private enum CodingKeys: String, CodingKey {
    case name, width, height, crop, rotate, mirror, mode, background, filter, fps, enabled, locked, quality,
      clients, watchers, urls
    case fpsLimit = "fps_limit"
  }

  /// A view, its use, and its clients; nil omits those.
  init(_ entry: ServedPreview, use: (clients: Int, framesPerSecond: Double), watchers: [WatcherAnswer]?) {
    let (served, view) = (entry.served, entry.served.view)
    name = view.name
    width = view.width
    height = view.height
    crop = view.crop.map { "\($0)" }
    rotate = view.rotation.rawValue
    mirror = view.mirroring.rawValue
    mode = view.contentMode.rawValue
    background = view.surround == .blur ? "blur" : "\(view.background)"
    filter = view.filter.rawValue
    fpsLimit = served.framesPerSecond
    fps = rounded(use.framesPerSecond)
    enabled = served.isEnabled
    locked = served.isLocked
    quality = served.quality
    clients = use.clients
    self.watchers = watchers
    let path = "/cameras/\(entry.camera)/\(view.name)"
    urls = ViewAddresses(stream: path + ".mjpeg", jpeg: path + ".jpg", png: path + ".png")
  }
}

/// The URLs of a view.
struct ViewAddresses: Encodable {
  let stream: String
  let jpeg: String
  let png: String
}

/// A client that watches a view.
struct WatcherAnswer: Encodable {
  let address: String
  let key: String?
  let fps: Int
  let since: String
}

/// Rounded to hundredths; 0 for values that are not finite, which JSON can't represent.
func rounded(_ number: Double) -> Double {
  let hundredths = (number * 100).rounded()
  return hundredths.isFinite ? hundredths / 100 : 0
}
