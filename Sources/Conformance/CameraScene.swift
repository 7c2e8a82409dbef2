// A synthetic camera scene for benchmarks, where a picture's detail determines the cost of codecs.
package import PreviewCore

/// A landscape that is larger than its frames. Each frame shows another part of it.
///
/// It varies as much over two pixels as over sixty, as photographs do. It has a smooth half and a rough one,
/// straight edges, and a sensor's noise everywhere. A 1920x1080 frame of it takes about 0.45 MB as JPEG of
/// quality 90. Codes are within 16...235, so that they are valid in both ranges.
package struct CameraScene: Sendable {
  /// The size of the whole scene, in pixels; even.
  private static let size = Size(width: 2240, height: 1280)
  /// The number of different frames.
  package static let frameCount = 8
  /// The largest frame that is not composed of several parts.
  private static let largest = Size(width: 1920, height: 1080)

  private let luma: [UInt8]
  private let cb: [UInt8]
  private let cr: [UInt8]

  package init() {
    let (size, chroma) = (Self.size, Size(width: Self.size.width / 2, height: Self.size.height / 2))
    var land = NoiseField(columns: size.width, rows: size.height, roughness: .land, seed: 1)
    land.build(houses: 40, seed: 2)
    luma = land.codes(around: 116)
    cb = NoiseField(columns: chroma.width, rows: chroma.height, roughness: .colour, seed: 3).codes(
      around: 122)
    cr = NoiseField(columns: chroma.width, rows: chroma.height, roughness: .colour, seed: 4).codes(
      around: 132)
  }

  /// Returns the part of the scene that frame `index` shows, as `nv12` or `i420` without padding. Frames
  /// repeat after `frameCount`; a frame larger than 1920x1080 is composed of several parts.
  ///
  /// - Throws: `Frame.LayoutError` for other formats.
  package func frame(_ index: Int, _ format: Frame.Format) throws(Frame.LayoutError) -> Frame {
    let size = format.size
    let chroma = Subsampling(x: 2, y: 2).planeSize(of: size)
    // Chroma's parts follow luma's: positions are even.
    let step = index % Self.frameCount
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size.pixelCount * 3 / 2 + size.width + size.height + 1)
    append(luma, Self.size.width, rows: size, scale: 1, step, to: &bytes)
    switch format.pixelFormat {
    case .i420:
      append(cb, Self.size.width / 2, rows: chroma, scale: 2, step, to: &bytes)
      append(cr, Self.size.width / 2, rows: chroma, scale: 2, step, to: &bytes)
    default:
      var (blue, red): ([UInt8], [UInt8]) = ([], [])
      append(cb, Self.size.width / 2, rows: chroma, scale: 2, step, to: &blue)
      append(cr, Self.size.width / 2, rows: chroma, scale: 2, step, to: &red)
      for index in blue.indices {
        bytes.append(blue[index])
        bytes.append(red[index])
      }
    }
    return try Frame(tight: format, bytes: bytes, sequence: index)
  }

  /// Appends rows of a plane with `scale` pixels per sample. Where one part of the scene is too small,
  /// several lie side by side.
  private func append(
    _ plane: [UInt8], _ bytesPerRow: Int, rows size: Size, scale: Int, _ step: Int, to bytes: inout [UInt8]
  ) {
    let part = Size(width: Self.largest.width / scale, height: Self.largest.height / scale)
    for y in 0..<size.height {
      for x in stride(from: 0, to: size.width, by: part.width) {
        // Each part, and each frame, begins at another position: 0, 40, ... 280 across and 0, 24, ... 168
        // down.
        let place = (step + 3 * (x / part.width) + 2 * (y / part.height)) % Self.frameCount
        let start = (y % part.height + 24 * place / scale) * bytesPerRow + 40 * place / scale
        bytes += plane[start..<start + min(part.width, size.width - x)]
      }
    }
  }
}

/// How much a field varies at each scale.
private struct Roughness {
  /// The amplitude at the coarsest scale, 32 samples, in codes; then at each half of that scale, down to one
  /// sample.
  let amplitudes: [Int32]
  /// The factor for the upper part, in eighths.
  let above: Int32

  static let land = Roughness(amplitudes: [40, 34, 27, 20, 14, 7], above: 1)
  static let colour = Roughness(amplitudes: [16, 8, 4, 2, 1, 1], above: 2)
}

/// A sum of noise at all scales: each step doubles the field, interpolates, and adds finer noise.
private struct NoiseField {
  private let columns: Int
  private let rows: Int
  private var values: [Int32]
  /// Values are codes times this.
  private static let scale: Int32 = 16

  init(columns: Int, rows: Int, roughness: Roughness, seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var (width, height) = (columns / 32 + 2, rows / 32 + 2)
    values = [Int32](repeating: 0, count: width * height)
    for (octave, amplitude) in roughness.amplitudes.enumerated() {
      if octave > 0 {
        values = Self.doubled(values, width, height)
        (width, height) = (2 * width - 1, 2 * height - 1)
      }
      for y in 0..<height {
        // The horizon is not quite straight: it lies where coarse noise ends.
        let rest = y * 8 / height < 3 && octave > 1 ? roughness.above : 8
        Self.add(amplitude * rest, to: &values, from: y * width, count: width, &random)
      }
    }
    // The field is a little larger than requested.
    var cut: [Int32] = []
    cut.reserveCapacity(columns * rows)
    for y in 0..<rows { cut += values[y * width..<y * width + columns] }
    self.columns = columns
    self.rows = rows
    values = cut
  }

  /// Adds noise of -1...1 times `amplitude` eighths of a code: sums of two random numbers, so that small
  /// values are likelier.
  private static func add(
    _ amplitude: Int32, to values: inout [Int32], from start: Int, count: Int, _ random: inout SplitMix64
  ) {
    var word: UInt64 = 0
    for index in start..<start + count {
      if (index - start) % 4 == 0 { word = random.next() }
      let sum = Int32(truncatingIfNeeded: word & 0xFF) + Int32(truncatingIfNeeded: word >> 8 & 0xFF) - 255
      word >>= 16
      values[index] += (sum * amplitude * scale / 8) / 255
    }
  }

  /// Returns the field with twice as many samples along both axes, less one; samples in between are means.
  private static func doubled(_ values: [Int32], _ width: Int, _ height: Int) -> [Int32] {
    let wide = 2 * width - 1
    var doubled: [Int32] = []
    doubled.reserveCapacity(wide * (2 * height - 1))
    for y in 0..<2 * height - 1 {
      let (above, below) = (y / 2 * width, (y + 1) / 2 * width)
      for x in 0..<width {
        let here = values[above + x] + values[below + x]
        doubled.append(here / 2)
        guard x + 1 < width else { break }
        doubled.append((here + values[above + x + 1] + values[below + x + 1]) / 4)
      }
    }
    return doubled
  }

  /// Adds flat house fronts with windows: straight edges, and no detail between them.
  mutating func build(houses: Int, seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<houses {
      let (width, height) = (
        Int.random(in: 40...160, using: &random), Int.random(in: 60...300, using: &random)
      )
      let left = Int.random(in: 0..<columns - width, using: &random)
      let top = Int.random(in: rows / 6..<rows - height, using: &random)
      let front = Int32.random(in: -70...80, using: &random) * Self.scale
      fill(front, left, top, width, height)
      for y in stride(from: top + 8, to: top + height - 14, by: 22) {
        for x in stride(from: left + 8, to: left + width - 12, by: 18) {
          fill(Int32.random(in: -90...100, using: &random) * Self.scale, x, y, 9, 12)
        }
      }
    }
  }

  private mutating func fill(_ value: Int32, _ left: Int, _ top: Int, _ width: Int, _ height: Int) {
    for y in top..<top + height {
      for x in left..<left + width { values[y * columns + x] = value }
    }
  }

  /// Returns the field as codes, with a sensor's noise.
  func codes(around middle: Int32) -> [UInt8] {
    var random = SplitMix64(seed: 9)
    var noisy = values
    Self.add(4 * 8, to: &noisy, from: 0, count: noisy.count, &random)
    return noisy.map { UInt8(clamping: min(max(middle + $0 / Self.scale, 16), 235)) }
  }
}
