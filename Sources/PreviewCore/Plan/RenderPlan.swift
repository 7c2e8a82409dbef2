// A render plan as a value: which signals of a frame are sampled where, how they are converted, and which
// plane of which picture they go to. Its description has one line per pass.

/// Components that are sampled together.
package enum Signal: String, Sendable, Hashable {
  /// Red, green and blue; a transparent frame is blended over the background.
  case rgb
  /// Y'.
  case luma
  /// Cb and Cr.
  case chroma
}

/// A signal, and the source positions of each output sample.
package struct SignalInput: Sendable, Hashable, CustomStringConvertible {
  /// Where output samples lie in the source.
  package enum Positions: Sendable, Hashable {
    /// Each column and each row has a position of its own along its axis.
    case axes(AxisMaps)
    /// Both coordinates of a position depend on column and row.
    case warp(WarpSampling)
  }

  package let signal: Signal
  package let positions: Positions

  /// The maps along the axes; nil for a warped view.
  package var axes: AxisMaps? { if case .axes(let maps) = positions { maps } else { nil } }

  /// For example `luma (box 1920->640, box 1080->360)`.
  package var description: String {
    switch positions {
    case .axes(let maps):
      "\(signal.rawValue) (\(maps.horizontal), \(maps.vertical)\(maps.swapsAxes ? ", swapped" : ""))"
    case .warp(let sampling): "\(signal.rawValue) (\(sampling.description))"
    }
  }
}

/// The source positions of columns and rows.
package struct AxisMaps: Sendable, Hashable {
  /// For the output's columns.
  package let horizontal: SamplingMap
  /// For the output's rows.
  package let vertical: SamplingMap
  /// Whether the output's columns are rows of the stored frame.
  package let swapsAxes: Bool
}

/// The components of the conversion's result that a pass writes.
package enum PassOutput: Sendable, Hashable {
  /// All three, as R, G, B, A bytes.
  case rgba
  /// Component 0, 1 or 2 as bytes, four columns per texel.
  case component(Int)
}

/// A pass that draws one plane of one picture.
package struct PlanePass: Sendable, Hashable {
  package let output: PassOutput
  /// Columns and rows of output samples.
  package let size: Size
  /// `rgb`, `luma`, `chroma`, or `luma` and `chroma`.
  package let inputs: [SignalInput]
  /// The number of map positions per output sample, whose converted colours are averaged. More than 1 only
  /// where R'G'B' becomes subsampled chroma.
  package let positionsPerSample: Subsampling
  /// The columns and rows of the maps. Positions beyond them use the edge's.
  package let positions: Size
  /// From the signals' codes, 0...255, to the output's. Signals that are not read count as 128.
  package let conversion: ColorConversion
  /// The colour outside the picture, in the output's codes.
  package let background: SIMD3<Double>
}

/// A request for a picture that a device codes as JPEG, if it can.
package struct PictureCoding: Sendable, Hashable {
  /// 1...100, on libjpeg's scale.
  package let quality: Int
  /// Whether the samples are wanted, too.
  package let keepsSamples: Bool
  /// The most bytes of the file, for which the quality is reduced; nil for no limit.
  package let maximumBytes: Int?

  /// A picture whose samples are wanted only if it is to keep within a limit: it may not, and a smaller picture may then be made of
  /// them.
  package init(quality: Int, keepsSamples: Bool = false, maximumBytes: Int? = nil) {
    self.quality = min(max(quality, 1), 100)
    self.keepsSamples = keepsSamples || maximumBytes != nil
    self.maximumBytes = maximumBytes.map { max($0, 0) }
  }

  /// The most bytes of the scan, which leaves room for the tables, and for EXIF if the file has it; nil for no limit.
  package var scanBudget: Int? {
    maximumBytes.map { min(max($0 - ($0 < Self.leastBytesWithEXIF ? 640 : 790), 1), 1 << 28) }
  }

  /// The lowest quality to search; below it a smaller picture shows more.
  package static let lowestQuality = 30
  /// EXIF takes 144 bytes: a file of a smaller budget than this leaves it out.
  package static let leastBytesWithEXIF = 4000
}

/// The plan of one picture.
package struct PlannedView: Sendable, Hashable {
  package let name: String
  package let size: Size
  package let format: Picture.Format
  /// The light in which samples are interpolated.
  package let light: Filter.Light
  /// The colour behind a transparent frame.
  package let background: RGBColor
  /// The part that may be read, in pixels of the stored picture at its reference size.
  package let crop: Rectangle
  /// One pass for `rgba`; otherwise those of Y', Cb and Cr.
  package let passes: [PlanePass]
  /// A composition that the passes read in place of the frame, drawn as R'G'B'A bytes of the view's size. Nil
  /// for plain views, which read the frame itself.
  package let composition: PlannedComposition?
  /// How the device codes the picture as JPEG; nil if it does not.
  package var coding: PictureCoding?

  /// The bytes of its picture.
  package var byteCount: Int {
    format.planeSizes(of: size).reduce(0) { $0 + $1.pixelCount * format.bytesPerSample }
  }

  /// One line per layer of the composition, if there is one, then one per pass.
  var lines: [String] {
    let layers = composition?.layers.enumerated().flatMap { $1.lines("\(name) layer \($0)") } ?? []
    return layers
      + passes.enumerated().map { index, pass in
        let linear = light == .linear ? " in linear light" : ""
        let inputs = pass.inputs.map(\.description).joined(separator: ", ")
        return
          "\(name) \(format)[\(index)] \(pass.size)\(linear) <- \(inputs)"
      }
  }
}

/// The passes that draw all views of frames of one format.
public struct RenderPlan: Sendable, Hashable {
  /// The format of the frames that the plan is for.
  public let source: Frame.Format
  /// The pictures, in the order of the requests.
  package let views: [PlannedView]
  /// The steps in which a device draws the views; nil for the reference renderer. For a view with a
  /// composition, they draw the composition's views.
  package let drawing: FrameDrawing?
}

extension RenderPlan: CustomStringConvertible {
  /// One line for the frame, then one per pass.
  public var description: String {
    (["frame \(source)"] + views.flatMap(\.lines)).joined(separator: "\n")
  }

  /// The steps in which a device draws the views, one line each; empty for the reference renderer.
  public var steps: String { drawing?.plan.description ?? "" }
}

extension Frame.Format: CustomStringConvertible {
  /// For example `1920x1080 nv12 bt601 limited left`.
  public var description: String {
    let meaning =
      pixelFormat.isRGB
      ? "" : " \(color.matrix.rawValue) \(color.range.rawValue) \(color.siting.rawValue)"
    let turned = orientation == .upright ? "" : " exif \(orientation.exif)"
    let scaled = eighths == 8 ? "" : ", \(eighths)/8 of \(referenceSize)"
    return "\(size) \(pixelFormat.rawValue)\(meaning)\(turned)\(scaled)"
  }
}
