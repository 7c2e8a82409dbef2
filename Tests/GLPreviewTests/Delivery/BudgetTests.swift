// Pictures within a budget: never a byte more, in eight encodes at most, and not much smaller than they could be.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("JPEG byte budgets")
struct BudgetTests {
  /// What is in a picture.
  enum Content: String, CaseIterable, CustomTestStringConvertible {
    case noise, bars, photo, flat

    var testDescription: String { rawValue }

    /// A picture of `size`, 4:2:0.
    func picture(_ size: Size) throws -> Picture {
      var generator = SeededGenerator(seed: 11)
      var bytes: [UInt8] = []
      for (index, plane) in Picture.Format.ycbcr(.yuv420).planeSizes(of: size).enumerated() {
        for y in 0..<plane.height {
          for x in 0..<plane.width {
            let (right, down) = (Double(x) / Double(plane.width), Double(y) / Double(plane.height))
            let code: Int
            switch self {
            case .noise: code = Int.random(in: 0...255, using: &generator)
            case .bars: code = (8 * x / plane.width * 61 + 90 * index) % 256
            case .flat: code = 90
            case .photo:
              // Slow light, a horizon, and grain.
              let grain = Double.random(in: -9...9, using: &generator)
              let edge = down > 0.6 + 0.05 * right ? 60.0 : 0
              code = Int(
                index == 0 ? 60 + 90 * right + 40 * down * right + edge + grain : 110 + 30 * right + grain / 4
              )
            }
            bytes.append(UInt8(min(max(code, 0), 255)))
          }
        }
      }
      return Picture(tight: size, format: .ycbcr(.yuv420), bytes: bytes)
    }
  }

  @Test(
    "FittedJPEG stays within its byte budget in at most 8 encodes and uses most of the budget",
    arguments: Content.allCases, [Size(width: 160, height: 90), Size(width: 641, height: 359)])
  func fits(content: Content, size: Size) throws {
    let picture = try content.picture(size)
    let unbound = try FittedJPEG(picture).encode()
    for budget in [200, 400, 700, 1500, 5000, 20_000, 100_000, 200_000] {
      try expectFit(
        picture, budget, unbound, isSmooth: content == .photo || content == .noise,
        "\(content) \(size) in \(budget)")
    }
  }

  @Test("a 1920x1080 picture fits into 5,000 and 100,000 bytes", arguments: [Content.photo, .noise, .bars])
  func large(content: Content) throws {
    let picture = try content.picture(Size(width: 1920, height: 1080))
    let unbound = try FittedJPEG(picture).encode()
    for budget in [5000, 100_000] {
      try expectFit(
        picture, budget, unbound, isSmooth: content == .photo || content == .noise, "\(content) in \(budget)")
    }
  }

  @Test(
    "PictureEncoder with a byte budget gives the same result as FittedJPEG",
    arguments: [Content.noise, .photo, .bars])
  func encoder(content: Content) throws {
    let picture = try content.picture(Size(width: 160, height: 90))
    for budget in [600, 1500, 3000, 5000, 200_000] {
      let encoded = try PictureEncoder(.jpeg, quality: 95, maximumBytes: budget).encode(picture)
      #expect(try encoded == FittedJPEG(picture, quality: 95).encode(maximumBytes: budget))
    }
  }

  private func expectFit(
    _ picture: Picture, _ budget: Int, _ unbound: EncodedPicture, isSmooth: Bool, _ comment: Comment
  ) throws {
    var encodes = 0
    defer { #expect(encodes <= 8, comment) }
    let encoded: EncodedPicture
    do throws(PictureEncoder.Failure) {
      encoded = try FittedJPEG(picture).encode(maximumBytes: budget) { encodes += 1 }
    } catch {
      // The tables alone take so many.
      #expect(budget < 500, comment)
      #expect(error.description.contains("at least"), comment)
      return
    }
    #expect(encoded.bytes.count <= budget, comment)
    let header = try JPEGDecoder.header(of: encoded.bytes)
    #expect(header.size == encoded.size, comment)
    let quality = try #require(encoded.quality)
    if unbound.bytes.count <= budget {
      #expect(encoded == unbound, comment)
    } else if encoded.size == picture.size {
      #expect((30...80).contains(quality), comment)
    } else {
      #expect(quality == 50 || quality == 30, comment)
    }
    // What is drawn with edges has sizes that leap.
    if isSmooth, encoded != unbound, budget >= 700 { #expect(encoded.bytes.count * 10 > budget * 8, comment) }
  }
}
