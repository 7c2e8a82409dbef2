// What is to be drawn, as a value: which signals of a frame are sampled where, how they become colours, and
// into which plane of which picture. Prints itself, one line a pass.

/// A group of components that are sampled together.
package enum Signal: String, Sendable, Hashable {
  /// Red, green and blue; over the background where the frame is transparent.
  case rgb
  /// Y'.
  case luma
  /// Cb and Cr.
  case chroma
}

/// An axis of the target.
package enum Axis: String, Sendable, Hashable {
  /// Along a row.
  case horizontal
  /// Along a column.
  case vertical
}

/// A signal and where each sample of an output plane finds it.
package struct SignalInput: Sendable, Hashable {
  /// What is sampled.
  package let signal: Signal
  /// For the output's columns.
  package let horizontal: SamplingMap
  /// For the output's rows.
  package let vertical: SamplingMap
  /// The output's columns are rows of the stored frame.
  package let swapsAxes: Bool
  /// The axis along which it is summed up by a pass of its own beforehand, if it is.
  package let reduction: Axis?

  /// The map along `axis`.
  package func map(_ axis: Axis) -> SamplingMap { axis == .horizontal ? horizontal : vertical }
}

/// Which numbers of the conversion a pass writes.
package enum PassOutput: Sendable, Hashable {
  /// All three, as R, G, B, A bytes.
  case rgba
  /// Row 0, 1 or 2 as bytes, four columns to a texel.
  case component(Int)
}

/// One plane of one picture.
package struct PlanePass: Sendable, Hashable {
  /// What is written.
  package let output: PassOutput
  /// Columns and rows of output samples.
  package let size: Size
  /// What is read: `rgb`, or `luma`, or `chroma`, or the last two.
  package let inputs: [SignalInput]
  /// Positions of the maps to an output sample; their converted colours are averaged. More than 1 only where R'G'B'
  /// becomes subsampled chroma.
  package let positionsPerSample: Subsampling
  /// Columns and rows of the maps: positions beyond are those of the edge.
  package let positions: Size
  /// From the signals' codes, 0...255, to the output's; a signal that is not read counts as 128.
  package let conversion: ColorConversion
  /// How it is drawn four outputs at a time; nil where it is drawn tap by tap.
  package let box: BoxRecipe?
  /// Where the picture does not reach, in the output's codes.
  package let background: SIMD3<Double>
}

/// One picture of the frame.
package struct PlannedView: Sendable, Hashable {
  /// The view's name.
  package let name: String
  /// In pixels.
  package let size: Size
  /// How the picture's samples lie.
  package let format: PictureFormat
  /// In which light its samples are mixed.
  package let light: FilteringLight
  /// What is behind a transparent frame.
  package let background: RGBColor
  /// What it may read, in pixels of the stored picture at its reference size.
  package let crop: Rectangle
  /// One for `rgba`, else Y', Cb, Cr.
  package let passes: [PlanePass]
  /// What the passes read in place of the frame: this drawn, as R'G'B'A bytes of the view's size. Nil for plain views,
  /// which read the frame itself.
  package let composition: PlannedComposition?
}

/// What is to be drawn of frames of one format.
public struct RenderPlan: Sendable, Hashable {
  /// The frames that it is for.
  public let source: FrameFormat
  /// The pictures, in the order in which they were asked for.
  package let views: [PlannedView]
}

extension RenderPlan: CustomStringConvertible {
  /// A line for the frame, then a line a pass.
  public var description: String {
    (["frame \(source)"] + views.flatMap(\.lines)).joined(separator: "\n")
  }
}

extension FrameFormat: CustomStringConvertible {
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

extension PlannedView {
  /// A line a layer, where it is put together of those, then a line a pass.
  var lines: [String] {
    let layers = composition?.layers.enumerated().flatMap { $1.lines("\(name) layer \($0)") } ?? []
    return layers
      + passes.enumerated().map { index, pass in
        let linear = light == .linear ? " in linear light" : ""
        let inputs = pass.inputs.map(\.description).joined(separator: ", ")
        return
          "\(name) \(format)[\(index)] \(pass.size)\(linear)\(pass.box == nil ? "" : " packed") <- \(inputs)"
      }
  }
}

extension SignalInput: CustomStringConvertible {
  /// For example `luma (box 1920->640, box 1080->360)`.
  package var description: String {
    let first = reduction.map { ", \($0.rawValue) first" } ?? ""
    return "\(signal.rawValue) (\(horizontal), \(vertical)\(swapsAxes ? ", swapped" : "")\(first))"
  }
}
