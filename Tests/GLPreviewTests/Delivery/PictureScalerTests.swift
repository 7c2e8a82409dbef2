// Smaller pictures by means over areas: worked out by hand, and against sums in fractions.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("PictureScaler")
struct PictureScalerTests {
  private func scaled(_ width: Int, _ height: Int, _ luma: [UInt8], to size: Size) -> [UInt8] {
    let picture = Picture(
      tight: Size(width: width, height: height), format: .ycbcr(.yuv444),
      bytes: luma + luma.map { 255 - $0 } + luma)
    let smaller = PictureScaler(picture).scaled(to: size)
    #expect(smaller.size == size)
    #expect(smaller.bytes.count == size.pixelCount * 3)
    #expect(Array(smaller.bytes.suffix(size.pixelCount)) == Array(smaller.bytes.prefix(size.pixelCount)))
    return Array(smaller.bytes.prefix(size.pixelCount))
  }

  @Test("a scaled sample is the mean of the area that it covers, with halves rounded up")
  func byHand() {
    #expect(scaled(4, 1, [0, 1, 10, 20], to: Size(width: 2, height: 1)) == [1, 15])
    // Three to two: one and a half each.
    #expect(scaled(3, 1, [0, 90, 240], to: Size(width: 2, height: 1)) == [30, 190])
    #expect(scaled(2, 2, [0, 0, 0, 255], to: Size(width: 1, height: 1)) == [64])
    #expect(scaled(5, 1, [10, 20, 30, 40, 50], to: Size(width: 1, height: 1)) == [30])
  }

  @Test("scaling a picture to its own size returns it unchanged")
  func itself() {
    let picture = ramps(Size(width: 9, height: 7), .yuv420, padding: 5)
    #expect(PictureScaler(picture).scaled(to: picture.size) == picture)
  }

  @Test(
    "every plane is the exact area mean at any chroma subsampling",
    arguments: [(37, 23, 20, 11), (64, 48, 63, 47), (101, 5, 7, 1), (33, 33, 33, 10)],
    Picture.ChromaSubsampling.allCases)
  func exact(sizes: (Int, Int, Int, Int), chroma: Picture.ChromaSubsampling) throws {
    let (full, target) = (Size(width: sizes.0, height: sizes.1), Size(width: sizes.2, height: sizes.3))
    var noise = SeededGenerator(seed: 5)
    var picture = ramps(full, chroma, padding: 3)
    picture = Picture(
      size: full, format: picture.format, planes: picture.planes,
      bytes: picture.bytes.map { _ in UInt8.random(in: 0...255, using: &noise) })

    let smaller = PictureScaler(picture).scaled(to: target)

    for (index, plane) in smaller.planes.enumerated() {
      let sampling = index == 0 ? Subsampling.none : chroma.subsampling
      let from = picture.planes[index]
      var wrong: [SIMD2<Int>] = []
      for y in 0..<plane.size.height {
        for x in 0..<plane.size.width {
          let columns = weights(x, full.width, target.width, from.size.width, sampling.x)
          let rows = weights(y, full.height, target.height, from.size.height, sampling.y)
          var (sum, total) = (0, 0)
          for (row, rowWeight) in rows {
            for (column, weight) in columns {
              sum += rowWeight * weight * Int(picture.bytes[from.offset + row * from.bytesPerRow + column])
              total += rowWeight * weight
            }
          }
          let code = smaller.bytes[plane.offset + y * plane.bytesPerRow + x]
          if Int(code) != (2 * sum + total) / (2 * total) { wrong.append([x, y]) }
        }
      }
      #expect(wrong.isEmpty, "plane \(index)")
    }
  }

  /// Which samples an output covers by how much: by brute force, in parts of a `target`th of a sample.
  private func weights(_ output: Int, _ full: Int, _ target: Int, _ samples: Int, _ sampling: Int) -> [Int:
    Int]
  {
    var weights: [Int: Int] = [:]
    for part in output * full..<(output + 1) * full where part / target < samples {
      weights[part / target, default: 0] += 1
    }
    return weights
  }
}
