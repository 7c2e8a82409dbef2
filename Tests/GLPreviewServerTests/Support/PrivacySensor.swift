// A camera with a secret: it knows in whatever mode it is where the secret lies, and paints it in a colour that nothing else
// has.
import PreviewCore
import Synchronization

@testable import CaptureV4L2
@testable import GLPreview

/// What is seen, in pixels of the reference size: what is hidden is orange, what lies outside the locked crop is yellow-green, all
/// else is grey.
enum PrivacyScene {
  static let reference = Size(width: 96, height: 64)
  /// Nobody may see anything of this.
  static let mask = Rectangle(x: 50, y: 8, width: 22, height: 17)
  /// Who sees the locked view sees nothing but this.
  static let crop = Rectangle(x: 10, y: 30, width: 31, height: 21)

  static let masks = [PrivacyMask(.rectangle(mask))]

  /// A picture of `size` that shows `part` of the scene: any pixel that has a bit of what is hidden is orange.
  static func pixels(_ size: Size, showing part: Rectangle) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size.pixelCount * 3)
    for y in 0..<size.height {
      let top = Double(part.y) + Double(y * part.height) / Double(size.height)
      let bottom = Double(part.y) + Double((y + 1) * part.height) / Double(size.height)
      for x in 0..<size.width {
        let left = Double(part.x) + Double(x * part.width) / Double(size.width)
        let right = Double(part.x) + Double((x + 1) * part.width) / Double(size.width)
        let isHidden = mask.meets(left, top, right, bottom)
        bytes +=
          isHidden ? [255, 128, 0] : crop.holds(left, top, right, bottom) ? [90, 90, 90] : [128, 255, 0]
      }
    }
    return bytes
  }
}

extension Rectangle {
  fileprivate func meets(_ left: Double, _ top: Double, _ right: Double, _ bottom: Double) -> Bool {
    left < Double(x + width) && right > Double(x) && top < Double(y + height) && bottom > Double(y)
  }

  fileprivate func holds(_ left: Double, _ top: Double, _ right: Double, _ bottom: Double) -> Bool {
    left >= Double(x) && right <= Double(x + width) && top >= Double(y) && bottom <= Double(y + height)
  }
}

/// A camera of several sizes, of which some show a part of the scene only, as those of sensors do.
final class PrivacySensor: Sendable {
  /// Its modes, and what each shows.
  private static let modes: [(size: Size, part: Rectangle)] = [
    (Size(width: 24, height: 16), Rectangle(all: PrivacyScene.reference)),
    (Size(width: 48, height: 32), Rectangle(x: 24, y: 16, width: 48, height: 32)),
    (Size(width: 40, height: 32), Rectangle(x: 20, y: 0, width: 40, height: 32)),
    (PrivacyScene.reference, Rectangle(all: PrivacyScene.reference)),
  ]
  /// Sizes that it may take by itself: pictures of all of the scene, and one of another shape, of a part.
  static let ownSizes = [
    Size(width: 192, height: 128), Size(width: 60, height: 40), Size(width: 97, height: 65),
    Size(width: 95, height: 64), Size(width: 64, height: 64),
  ]

  /// Whether it has a choice of sizes, as a camera of the machine has, or gives what it gives, as one on the network does.
  let hasSizes: Bool
  /// Whether its pictures are JPEGs, which may be passed on as they are.
  let givesJPEGs: Bool
  private let state = Mutex(State())

  private struct State {
    var ownSize: Size?
    var losses = 0
    var opens: Set<Size> = []
  }

  init(hasSizes: Bool, givesJPEGs: Bool = false) {
    self.hasSizes = hasSizes
    self.givesJPEGs = givesJPEGs
  }

  /// The size that its pictures take by themselves from now on; nil is that of its mode.
  func change(to size: Size?) { state.withLock { $0.ownSize = size } }

  /// Has the connection break.
  func lose() { state.withLock { $0.losses += 1 } }

  /// The sizes in which it was seen.
  var seen: Set<Size> { state.withLock { $0.opens } }

  /// As a session takes it.
  func source(named name: String, _ options: SourceOptions) -> SessionSource {
    SessionSource(
      name: name, options: options,
      SessionSource.Origin(isLive: true, hasSizes: hasSizes) {
        LiveSource(Device(sensor: self, options: $0), $0)
      }
    )
  }

  fileprivate func mode(_ options: SourceOptions) throws -> SourceStatus.Mode {
    var mode = SourceStatus.Mode(format: "RGB3", transport: "script")
    mode.size = PrivacyScene.reference
    guard hasSizes else { return mode }
    let formats = [
      V4L2Camera.Format(
        FourCC("RGB3"), sizes: Self.modes.map { V4L2Camera.FrameSizes($0.size) })
    ]
    let reference =
      options.referenceSize
      ?? V4L2ModeSelection.referenceSize(
        formats, V4L2Preferences(), signal: nil, maximumPixels: options.maximumPixels)
    do throws(V4L2Refusal) {
      let choice = try V4L2ModeSelection(
        formats, V4L2Preferences(), options.demand, pinned: options.isPinned ? reference : nil)
      (mode.size, mode.referenceSize) = (choice.size, reference)
    } catch {
      throw SourceError(.badRequest, path: "sensor", reason: error.description)
    }
    return mode
  }

  fileprivate func picture(_ mode: SourceStatus.Mode, _ options: SourceOptions) throws -> Capture {
    let own = state.withLock { $0.ownSize }
    let size = own ?? mode.size ?? PrivacyScene.reference
    state.withLock { _ = $0.opens.insert(size) }
    var part = Self.modes.first { $0.size == size }?.part ?? Rectangle(all: PrivacyScene.reference)
    if !size.hasShape(of: PrivacyScene.reference), own != nil {
      part = Rectangle(x: 32, y: 0, width: 64, height: 64)
    }
    let pixels = PrivacyScene.pixels(size, showing: part)
    guard givesJPEGs else {
      return Capture(
        try Frame(
          tight: Frame.Format(.rgb24, size, color: .jfif), bytes: pixels, timestamp: CaptureClock.now))
    }
    return Capture(
      jpeg: try Self.jpeg(size, pixels), timestamp: CaptureClock.now, options,
      memory: options.memory ?? FramePool())
  }

  /// As good as JPEGs are, so that a colour stays where it is.
  private static func jpeg(_ size: Size, _ pixels: [UInt8]) throws -> [UInt8] {
    var planes = [[UInt8]](repeating: [], count: 3)
    for start in stride(from: 0, to: pixels.count, by: 3) {
      let color = SIMD3(Double(pixels[start]), Double(pixels[start + 1]), Double(pixels[start + 2]))
      let luma = (color * SIMD3(0.299, 0.587, 0.114)).sum()
      for (index, code) in [luma, 128 + (color.z - luma) / 1.772, 128 + (color.x - luma) / 1.402].enumerated()
      {
        planes[index].append(UInt8(min(max(code.rounded(), 0), 255)))
      }
    }
    let picture = Picture(tight: size, format: .ycbcr(.yuv444), bytes: planes.flatMap(\.self))
    return try JPEGEncoder(quality: 100).encode(picture)
  }

  fileprivate var losses: Int { state.withLock { $0.losses } }

  private struct Device: CaptureDevice {
    let sensor: PrivacySensor
    let options: SourceOptions
    var name: String { "sensor" }
    var longestPause: Duration { .milliseconds(1) }

    func connect() async throws -> any CaptureConnection {
      Connection(sensor: sensor, options: options, mode: try sensor.mode(options), losses: sensor.losses)
    }
  }

  private struct Connection: CaptureConnection {
    let sensor: PrivacySensor
    let options: SourceOptions
    let mode: SourceStatus.Mode
    let losses: Int

    func next() async throws -> Capture? {
      try await Task.sleep(for: .milliseconds(2))
      guard sensor.losses == losses else {
        throw SourceError(.unavailable, path: "sensor", reason: "was unplugged")
      }
      return try sensor.picture(mode, options)
    }

    func close() async {}
  }
}

/// Which of the scene's secrets a picture shows.
struct PrivacyLeak: OptionSet, Hashable {
  var rawValue: Int
  /// Of what the mask hides.
  static let hidden = PrivacyLeak(rawValue: 1)
  /// Of what lies outside the locked crop.
  static let outside = PrivacyLeak(rawValue: 2)

  /// Looks at every pixel of a picture, decoded.
  init(in picture: Picture) {
    var leak = PrivacyLeak()
    for y in 0..<picture.size.height {
      for x in 0..<picture.size.width { leak.formUnion(PrivacyLeak(picture.color(x, y), least: 96)) }
    }
    self = leak
  }

  /// Looks at every pixel of a JPEG or PNG.
  init(inFile bytes: [UInt8]) throws {
    let isPNG = bytes.starts(with: [0x89, 0x50])
    let frame =
      try isPNG
      ? PNGDecoder.decode(bytes, maximumPixels: 1 << 24) : JPEGDecoder.decode(bytes, maximumPixels: 1 << 24)
    var leak = PrivacyLeak()
    for y in 0..<frame.format.size.height {
      for x in 0..<frame.format.size.width { leak.formUnion(PrivacyLeak(try frame.color(x, y), least: 120)) }
    }
    self = leak
  }

  init(rawValue: Int) { self.rawValue = rawValue }

  /// By hue, so that what is dimmed or blended counts too. The secrets are 255 strong, and 102 in a dimmed last frame. The bars of
  /// NO SIGNAL are 88 strong, and make these hues where a small picture mixes them. Neither hue is the other's complement,
  /// which a JPEG's ringing makes.
  private init(_ color: SIMD3<Double>, least strength: Double) {
    let (most, least) = (color.max(), color.min())
    let share = ((color.x + color.y + color.z) - most - 2 * least) / max(most - least, 1)
    self = []
    guard most - least >= strength, color.z == least, abs(share - 0.5) < 0.3 else { return }
    self = color.x == most ? .hidden : .outside
  }
}

extension Picture {
  fileprivate func color(_ x: Int, _ y: Int) -> SIMD3<Double> {
    func sample(_ plane: Int, _ channel: Int = 0) -> Double {
      let (plane, whole) = (planes[plane], planes[0].size)
      let (column, row) = (x * plane.size.width / whole.width, y * plane.size.height / whole.height)
      return Double(bytes[plane.offset + row * plane.bytesPerRow + column * format.bytesPerSample + channel])
    }
    guard case .ycbcr = format else { return [sample(0, 0), sample(0, 1), sample(0, 2)] }
    return rgb(sample(0), sample(1), sample(2))
  }
}

extension Frame {
  struct UnknownFormat: Error {}

  fileprivate func color(_ x: Int, _ y: Int) throws -> SIMD3<Double> {
    let bytes = bytes
    func sample(_ plane: Int, _ x: Int, _ y: Int) -> Double {
      Double(bytes[planes[plane].offset + y * planes[plane].bytesPerRow + x])
    }
    switch format.pixelFormat {
    case .grey: return SIMD3(repeating: sample(0, x, y))
    case .rgb24: return [sample(0, 3 * x, y), sample(0, 3 * x + 1, y), sample(0, 3 * x + 2, y)]
    case .rgba, .rgbx: return [sample(0, 4 * x, y), sample(0, 4 * x + 1, y), sample(0, 4 * x + 2, y)]
    case .yuv444p: return rgb(sample(0, x, y), sample(1, x, y), sample(2, x, y))
    case .i420: return rgb(sample(0, x, y), sample(1, x / 2, y / 2), sample(2, x / 2, y / 2))
    default: throw UnknownFormat()
    }
  }
}

/// JFIF's.
private func rgb(_ luma: Double, _ cb: Double, _ cr: Double) -> SIMD3<Double> {
  let (blue, red) = (cb - 128, cr - 128)
  return [luma + 1.402 * red, luma - 0.344136 * blue - 0.714136 * red, luma + 1.772 * blue]
}
