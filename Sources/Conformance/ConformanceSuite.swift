// The cases that every driver must pass: each format, filter, mode, orientation and edge by itself, and then
// random mixtures of all, from a fixed seed.
internal import PreviewCore

/// The cases of `glpreview verify` and of the tests.
package enum ConformanceSuite {
  package static var cases: [ConformanceCase] {
    copies + formats + filters + modes + orientations + edges + colors + light + outputs + scaled
      + mixed(count: 150) + WarpSuite.cases + scenes
  }

  private static let odd = Size(width: 37, height: 23)

  private static func format(
    _ pixelFormat: PixelFormat, _ size: Size = odd, _ color: ColorDescription? = nil,
    orientation: Orientation = .upright
  ) -> Frame.Format {
    Frame.Format(
      pixelFormat, size,
      color: color ?? ColorDescription(matrix: .bt601, range: .limited, siting: .left),
      orientation: orientation)
  }

  /// Copies at 1:1, rotated, mirrored and cropped: not a single code may differ.
  private static var copies: [ConformanceCase] {
    let rgb: [PixelFormat] = [.rgb24, .bgr24, .rgb24, .grey]
    let moved = Rotation.allCases.flatMap { rotation in
      Mirroring.allCases.enumerated().map { index, mirroring in
        let isGrey = rgb[index] == .grey
        return ConformanceCase(
          "exact copies", format(rgb[index], odd, isGrey ? .jfif : nil), seed: UInt64(index),
          ViewConfiguration(
            crop: Rectangle(x: 3, y: 2, width: 30, height: 19), rotation: rotation, mirroring: mirroring,
            filter: index % 2 == 0 ? .nearest : .auto), bound: 0)
      }
    }
    // The planes of a JPEG with JFIF colour are copied into a JPEG unchanged.
    let planes: [(PixelFormat, Picture.ChromaSubsampling)] = [
      (.i420, .yuv420), (.yuv422p, .yuv422), (.yuv444p, .yuv444), (.nv12, .yuv420),
    ]
    // The planes of a camera with limited range are copied into a video unchanged.
    let limited = ColorDescription(matrix: .bt601, range: .limited, siting: .centred)
    let video = [PixelFormat.i420, .nv12].map { pixelFormat in
      ConformanceCase(
        "exact copies", format(pixelFormat, odd, limited), seed: 9, ViewConfiguration(), as: .video, bound: 0)
    }
    return moved + video
      + planes.map { pixelFormat, chroma in
        ConformanceCase(
          "exact copies", format(pixelFormat, odd, .jfif), seed: 9, ViewConfiguration(), as: .ycbcr(chroma),
          bound: 0)
      }
  }

  private static var formats: [ConformanceCase] {
    PixelFormat.allCases.flatMap { pixelFormat in
      [(odd, 20, 11), (Size(width: 18, height: 34), 41, 60), (Size(width: 1, height: 1), 3, 2)].map {
        size, width, height in
        ConformanceCase(
          "format \(pixelFormat.rawValue)", format(pixelFormat, size), seed: UInt64(width),
          ViewConfiguration(
            width: width, height: height, contentMode: .stretch,
            background: RGBColor(red: 200, green: 30, blue: 90)))
      }
    }
  }

  private static var filters: [ConformanceCase] {
    let sizes = [(37, 23), (9, 5), (3, 2), (1, 1), (80, 50), (12, 70), (300, 1)]
    return Filter.allCases.flatMap { filter in
      [PixelFormat.rgb24, .nv12].flatMap { pixelFormat in
        sizes.map { width, height in
          ConformanceCase(
            "filter \(filter.rawValue)", format(pixelFormat, Size(width: 61, height: 47)),
            seed: UInt64(height),
            ViewConfiguration(width: width, height: height, contentMode: .stretch, filter: filter))
        }
      }
        // Enough taps to need a separate pass along each axis.
        + [
          ConformanceCase(
            "filter \(filter.rawValue)", format(.nv12, Size(width: 331, height: 287)), seed: 7,
            ViewConfiguration(rotation: .clockwise90, width: 12, height: 9, filter: filter)),
          ConformanceCase(
            "filter \(filter.rawValue)", format(.rgba, Size(width: 90, height: 401)), .smooth, seed: 8,
            ViewConfiguration(width: 12, height: 9, filter: filter), as: .ycbcr(.yuv420)),
          // Every third output lies between two samples, where sums reach far beyond the range of codes.
          ConformanceCase(
            "filter \(filter.rawValue)", format(.rgb24, Size(width: 40, height: 32)), .extremes, seed: 9,
            ViewConfiguration(width: 60, height: 48, filter: filter)),
        ]
    }
  }

  private static var modes: [ConformanceCase] {
    ContentMode.allCases.flatMap { mode in
      [PixelFormat.rgb24, .i420].flatMap { pixelFormat in
        [(20, 20), (33, 9), (7, 50), (64, 40)].flatMap { width, height in
          [Picture.Format.rgba, .ycbcr(.yuv420)].map {
            ConformanceCase(
              "mode \(mode.rawValue)", format(pixelFormat), seed: UInt64(width),
              ViewConfiguration(
                width: width, height: height, contentMode: mode,
                background: RGBColor(red: 10, green: 120, blue: 250)), as: $0)
          }
        }
      }
    }
  }

  private static var orientations: [ConformanceCase] {
    Orientation.allCases.flatMap { orientation in
      Rotation.allCases.map { rotation in
        ConformanceCase(
          "orientation", format(.i420, odd, .jfif, orientation: orientation), seed: UInt64(rotation.rawValue),
          ViewConfiguration(
            crop: Rectangle(x: 2, y: 5, width: 15, height: 13), rotation: rotation, mirroring: .vertical,
            width: 11, height: 17))
      }
    }
  }

  /// Crops of one pixel and at every edge, on both sides of a chroma sample.
  private static var edges: [ConformanceCase] {
    let crops = [
      Rectangle(x: 0, y: 0, width: 1, height: 1), Rectangle(x: 36, y: 22, width: 1, height: 1),
      Rectangle(x: 17, y: 11, width: 1, height: 1), Rectangle(x: 0, y: 7, width: 5, height: 9),
      Rectangle(x: 31, y: 7, width: 6, height: 9), Rectangle(x: 9, y: 0, width: 7, height: 3),
      Rectangle(x: 9, y: 19, width: 8, height: 4), Rectangle(x: 1, y: 1, width: 35, height: 21),
    ]
    return crops.flatMap { crop in
      [Filter.bilinear, .area, .bicubic, .mitchell, .lanczos, .nearest].flatMap { filter in
        [PixelFormat.nv12, .yuyv, .rgb24].map {
          ConformanceCase(
            "crop edges", format($0), seed: UInt64(crop.x),
            ViewConfiguration(crop: crop, width: 10, height: 8, filter: filter))
        }
      }
    }
  }

  private static var colors: [ConformanceCase] {
    ColorDescription.Matrix.allCases.flatMap { matrix in
      ColorDescription.QuantizationRange.allCases.flatMap { range in
        ColorDescription.ChromaSiting.allCases.flatMap { siting in
          [Picture.Format.rgba, .ycbcr(.yuv420), .ycbcr(.yuv444), .video].map {
            ConformanceCase(
              "color \(matrix.rawValue)",
              format(.nv12, odd, ColorDescription(matrix: matrix, range: range, siting: siting)), seed: 5,
              ViewConfiguration(width: 15, height: 12), as: $0)
          }
        }
      }
    }
  }

  private static var light: [ConformanceCase] {
    let pixelFormats: [PixelFormat] = [.rgb24, .rgba, .rgba64, .grey, .nv12, .yuyv, .yuv411p]
    return pixelFormats.flatMap { pixelFormat in
      [(37, 23), (10, 6), (2, 1), (60, 50)].map { width, height in
        ConformanceCase(
          "linear light", format(pixelFormat), width == 10 ? .extremes : .noise, seed: UInt64(width),
          ViewConfiguration(
            crop: Rectangle(x: 1, y: 1, width: 35, height: 21), width: width, height: height,
            contentMode: .stretch, background: RGBColor(red: 3, green: 128, blue: 250), light: .linear),
          as: width == 60 ? .ycbcr(.yuv420) : .rgba)
      }
    }
  }

  private static var outputs: [ConformanceCase] {
    Picture.Format.allCases.flatMap { output in
      [PixelFormat.rgb24, .nv12, .grey, .uyvy].flatMap { pixelFormat in
        [(19, 13), (20, 10), (1, 1), (37, 23)].map { width, height in
          ConformanceCase(
            "output \(output)", format(pixelFormat), seed: UInt64(width),
            ViewConfiguration(
              mirroring: .horizontal, width: width, height: height, contentMode: .fit,
              background: RGBColor(red: 250, green: 0, blue: 60)), as: output)
        }
      }
    }
  }

  /// Frames that were decoded at n/8 of their size.
  private static var scaled: [ConformanceCase] {
    let views = [
      ViewConfiguration(width: 13, height: 9, contentMode: .stretch),
      ViewConfiguration(rotation: .clockwise270, width: 7, height: 11, filter: .lanczos),
      ViewConfiguration(
        crop: Rectangle(x: 7, y: 3, width: 41, height: 37), mirroring: .horizontal, width: 20, height: 30,
        contentMode: .fit, background: RGBColor(red: 20, green: 200, blue: 40)),
      ViewConfiguration(crop: Rectangle(x: 60, y: 46, width: 1, height: 1), width: 3, filter: .bilinear),
      ViewConfiguration(
        crop: Rectangle(x: 9, y: 5, width: 37, height: 31), width: 24, height: 20, filter: .area,
        light: .linear),
      ViewConfiguration(filter: .nearest),
      ViewConfiguration(rotation: .clockwise90, width: 17, height: 31, filter: .bicubic),
      ViewConfiguration(
        crop: Rectangle(x: 11, y: 2, width: 40, height: 33), mirroring: .vertical, width: 30,
        filter: .mitchell),
    ]
    let pixelFormats: [PixelFormat] = [.yuv444p, .yuv422p, .yuv411p, .nv12, .grey, .rgb24]
    return [1, 2, 3, 4, 7].flatMap { eighths in
      pixelFormats.flatMap { pixelFormat in
        views.enumerated().map { index, view in
          let orientation = Orientation.allCases[(index + eighths) % 4]
          return ConformanceCase(
            "decoded at n/8",
            Frame.Format(
              pixelFormat, Size(width: 61, height: 47),
              color: pixelFormat == .nv12
                ? ColorDescription(matrix: .bt709, range: .limited, siting: .left) : .jfif,
              orientation: orientation, eighths: eighths), seed: UInt64(index),
            view, as: index % 2 == 0 ? .ycbcr(.yuv420) : .rgba)
        }
      }
    }
  }

  /// Random cases from one seed.
  package static func mixed(count: Int, seed: UInt64 = 2026) -> [ConformanceCase] {
    var random = SplitMix64(seed: seed)
    return (0..<count).map { _ in mixed(&random) }
  }

  /// Random warped views from one seed.
  package static func warped(count: Int, seed: UInt64 = 2026) -> [ConformanceCase] {
    WarpSuite.mixed(count: count, seed: seed)
  }

  private static func mixed(_ random: inout SplitMix64) -> ConformanceCase {
    func pick<Choices: Collection>(_ choices: Choices, _ random: inout SplitMix64) -> Choices.Element {
      choices[choices.index(choices.startIndex, offsetBy: Int.random(in: 0..<choices.count, using: &random))]
    }
    let size = Size(
      width: Int.random(in: 1...70, using: &random), height: Int.random(in: 1...70, using: &random))
    let orientation = pick(Orientation.allCases, &random)
    let upright = orientation.seen(size)
    let x = Int.random(in: 0..<upright.width, using: &random)
    let y = Int.random(in: 0..<upright.height, using: &random)
    let crop = Rectangle(
      x: x, y: y, width: Int.random(in: 1...upright.width - x, using: &random),
      height: Int.random(in: 1...upright.height - y, using: &random))
    let view = ViewConfiguration(
      crop: pick([crop, crop, nil], &random), rotation: pick(Rotation.allCases, &random),
      mirroring: pick(Mirroring.allCases, &random),
      width: pick([nil, 1, 40, Int.random(in: 1...90, using: &random)], &random),
      height: pick([nil, 1, 40, Int.random(in: 1...90, using: &random)], &random),
      contentMode: pick(ContentMode.allCases, &random),
      background: RGBColor(red: UInt8.random(in: 0...255, using: &random), green: 40, blue: 99),
      filter: pick(Filter.allCases, &random), light: pick([.encoded, .encoded, .linear], &random))
    let color = ColorDescription(
      matrix: pick(ColorDescription.Matrix.allCases, &random),
      range: pick(ColorDescription.QuantizationRange.allCases, &random),
      siting: pick(ColorDescription.ChromaSiting.allCases, &random))
    return ConformanceCase(
      "all mixed", format(pick(PixelFormat.allCases, &random), size, color, orientation: orientation),
      pick(FrameContent.allCases, &random), seed: random.next() % 1000,
      view, as: pick(Picture.Format.allCases, &random))
  }
}
