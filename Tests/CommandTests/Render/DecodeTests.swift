import Foundation
import GLPreview
import TestSupport
import Testing

@Suite("Scaled decoding of JPEGs")
struct DecodeTests {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  /// Writes a 480x270 JPEG of quality 90 whose detail falls off as a photograph's does: each octave is half as strong as
  /// the one below it (Field, 1987: amplitudes go as 1/f).
  private func writePhoto(_ name: String) async throws {
    let (width, height) = (480, 270)
    var random = SeededGenerator(seed: 7)
    func octaves(_ width: Int, _ height: Int, strength: Double, finest: Int) -> [UInt8] {
      var sums = [Double](repeating: 128, count: width * height)
      for octave in 0...6 where 64 >> octave >= finest {
        let step = 64 >> octave
        let columns = width / step + 2
        let lattice = (0..<columns * (height / step + 2)).map { _ in Double.random(in: -1...1, using: &random)
        }
        for y in 0..<height {
          for x in 0..<width {
            let (column, row) = (x / step, y / step)
            let (right, down) = (Double(x % step) / Double(step), Double(y % step) / Double(step))
            let corner = row * columns + column
            let top = lattice[corner] * (1 - right) + lattice[corner + 1] * right
            let bottom = lattice[corner + columns] * (1 - right) + lattice[corner + columns + 1] * right
            sums[y * width + x] += strength / Double(1 << octave) * (top * (1 - down) + bottom * down)
          }
        }
      }
      return sums.map { UInt8(min(max($0, 0), 255)) }
    }
    let planes =
      octaves(width, height, strength: 110, finest: 1)
      + octaves(width / 2, height / 2, strength: 40, finest: 2)
      + octaves(width / 2, height / 2, strength: 40, finest: 2)
    let video = Array("YUV4MPEG2 W480 H270 F25:1 Ip C420jpeg\nFRAME\n".utf8) + planes
    #expect(try await folder.run("render", "-", "--quality", "90", "-o", name, input: video).status == 0)
  }

  /// How near two PNGs of one size are, in dB; 99 where they are the same.
  private func peakSignalToNoise(_ first: String, _ second: String) throws -> Double {
    let (one, other) = (
      try PNGDecoder.decode(folder.bytes(of: first), maximumPixels: 1 << 20),
      try PNGDecoder.decode(folder.bytes(of: second), maximumPixels: 1 << 20)
    )
    try #require(one.format == other.format && one.bytes.count == other.bytes.count)
    let squares = zip(one.bytes, other.bytes).reduce(0) {
      $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1))
    }
    return squares == 0 ? 99 : 10 * log10(255 * 255 * Double(one.bytes.count) / Double(squares))
  }

  @Test(
    "--decode fast gives the same size at 40 dB PSNR or more, and reports the decoded scale",
    arguments: [
      (["--size", "160x90"], 4), (["--size", "160x90", "--filter", "lanczos"], 4), (["--size", "48x27"], 2),
      (["--size", "20x11"], 1), (["--crop", "480x264+0+0", "--size", "60x"], 1),
      (["--size", "90x160", "--rotate", "90", "--mirror", "horizontal"], 4),
      (["--crop", "301x200+33+41", "--size", "100x"], 4),
    ])
  func near(options: [String], eighths: Int) async throws {
    try await writePhoto("photo.jpg")

    let exact = try await folder.run(["render", "photo.jpg", "-o", "exact.png", "--json"] + options)
    let fast = try await folder.run(
      ["render", "photo.jpg", "-o", "fast.png", "--json", "--decode", "fast"] + options)

    let (exactReport, fastReport) = (try #require(exact.reports.first), try #require(fast.reports.first))
    #expect(exactReport.decodedEighths == 8 && fastReport.decodedEighths == eighths)
    #expect(exactReport.width == fastReport.width && exactReport.height == fastReport.height)
    let nearness = try peakSignalToNoise("exact.png", "fast.png")
    #expect(nearness >= 40, "\(nearness) dB")
    #expect(nearness < 99, "nothing was decoded otherwise")
  }

  @Test("one view that needs the full size makes all views of the frame decode at 8/8")
  func whole() async throws {
    try await writePhoto("photo.jpg")
    let views = ["--view", "a:size=160x90", "--view", "b:crop=32x32+9+9"]
    for (name, decode) in [("exact", "exact"), ("fast", "fast")] {
      let result = try await folder.run(
        ["render", "photo.jpg", "-o", "\(name)-{view}.png", "--json", "--decode", decode] + views)
      #expect(try result.reports.map(\.decodedEighths) == [8, 8])
    }
    #expect(try folder.bytes(of: "exact-a.png") == folder.bytes(of: "fast-a.png"))
  }

  @Test("--decode exact is the default for a single source, and an unknown value exits with 64")
  func words() async throws {
    let result = try await folder.run("render", "pattern:smpte", "--size", "16x", "-o", "null:", "--json")
    #expect(try result.reports.map(\.decodedEighths) == [8])
    let refused = try await folder.run("render", "pattern:smpte", "--decode", "quick", "-o", "null:")
    #expect(refused.status == 64)
    for word in ["quick", "exact", "fast"] { #expect(refused.errors.contains(word)) }
  }

  @Test("--decode fast chooses the scale for each picture of a stream by its size")
  func changingSizes() async throws {
    var stream: [UInt8] = []
    for size in ["96x64", "24x16", "12x8"] {
      stream += try await folder.run("render", "pattern:smpte,size=\(size)", "-o", "-").output
    }

    let result = try await folder.run(
      ["render", "-", "--lossless", "--size", "12x8", "--decode", "fast", "-o", "null:jpg", "--json"],
      input: stream)

    #expect(try result.reports.map(\.decodedEighths) == [1, 4, 8])
    #expect(try result.reports.map(\.width) == [12, 12, 12])
  }
}
