// Frame formats: their planes, what a texel of each plane holds, and where the components' samples are. This
// is the only file that treats formats by name.

/// The memory layout of a frame's samples.
public enum PixelFormat: String, Sendable, Hashable, CaseIterable {
  /// 4:2:0, a Y' plane and one of Cb, Cr pairs.
  case nv12
  /// 4:2:0, a Y' plane and one of Cr, Cb pairs.
  case nv21
  /// 4:2:0, planes Y', Cb, Cr.
  case i420
  /// 4:2:0, planes Y', Cr, Cb.
  case yv12
  /// 4:2:2, a Y' plane and one of Cb, Cr pairs.
  case nv16
  /// 4:2:2 in one plane: Y' Cb Y' Cr.
  case yuyv
  /// 4:2:2 in one plane: Cb Y' Cr Y'.
  case uyvy
  /// 4:2:2 in one plane: Y' Cr Y' Cb.
  case yvyu
  /// 4:4:4, planes Y', Cb, Cr.
  case yuv444p
  /// 4:2:2, planes Y', Cb, Cr.
  case yuv422p
  /// 4:4:0 (chroma halved vertically), planes Y', Cb, Cr.
  case yuv440p
  /// 4:1:1 (chroma quartered horizontally), planes Y', Cb, Cr.
  case yuv411p
  /// Y' only.
  case grey
  /// R, G, B.
  case rgb24
  /// B, G, R.
  case bgr24
  /// R, G, B, A (not premultiplied).
  case rgba
  /// B, G, R, A (not premultiplied).
  case bgra
  /// R, G, B and an unused byte.
  case rgbx
  /// B, G, R and an unused byte.
  case bgrx
  /// R, G, B, A (not premultiplied) of 16 bits each, in the machine's byte order.
  case rgba64
}

/// The channels of one texel of a plane: how many, and of how many bits.
package enum TexelLayout: Sendable, Hashable, CaseIterable {
  case one8
  case two8
  case three8
  case four8
  case four16

  package var byteCount: Int {
    switch self {
    case .one8: 1
    case .two8: 2
    case .three8: 3
    case .four8: 4
    case .four16: 8
    }
  }

  package var bytesPerChannel: Int { self == .four16 ? 2 : 1 }
}

/// The number of luma samples that share a chroma sample, along each axis.
package struct Subsampling: Sendable, Hashable {
  /// Along a row: 1, 2 or 4.
  package let x: Int
  /// Along a column: 1 or 2.
  package let y: Int

  package init(x: Int, y: Int) {
    self.x = x
    self.y = y
  }

  package static let none = Subsampling(x: 1, y: 1)

  /// Returns the plane size for a picture of `size`. Sides round up, so that odd edges have samples.
  package func planeSize(of size: Size) -> Size {
    Size(width: (size.width - 1) / x + 1, height: (size.height - 1) / y + 1)
  }
}

/// One plane of a format.
package struct PlaneDescription: Sendable, Hashable {
  package let texel: TexelLayout
  /// The plane's resolution relative to the picture's.
  package let subsampling: Subsampling
  /// Texels per subsampled column: 2 for packed Y' Cb Y' Cr, otherwise 1.
  package let texelsPerColumn: Int

  /// Columns and rows of texels for a picture of `size`.
  package func texels(of size: Size) -> Size {
    let samples = subsampling.planeSize(of: size)
    return Size(width: samples.width * texelsPerColumn, height: samples.height)
  }

  package func tightBytesPerRow(of size: Size) -> Int { texels(of: size).width * texel.byteCount }
}

/// The position of one component's samples: sample k of a row is channel `channel` of texel `k * texelStep +
/// texelOffset`.
package struct Component: Sendable, Hashable {
  package let plane: Int
  /// The channel of the texel, 0...3.
  package let channel: Int
  /// Texels from one sample to the next.
  package let texelStep: Int
  /// The texel of sample 0.
  package let texelOffset: Int
  /// Picture pixels per sample.
  package let subsampling: Subsampling

  init(plane: Int, channel: Int, step: Int = 1, offset: Int = 0, _ subsampling: Subsampling = .none) {
    self.plane = plane
    self.channel = channel
    self.texelStep = step
    self.texelOffset = offset
    self.subsampling = subsampling
  }
}

/// The components of a format.
package enum ColorModel: Sendable, Hashable {
  /// Red, green, blue and optional alpha, all in one plane.
  case rgb(red: Component, green: Component, blue: Component, alpha: Component?)
  /// Y' only; chroma is neutral.
  case luma(Component)
  case ycbcr(luma: Component, cb: Component, cr: Component)
}

extension PixelFormat {
  /// Whether samples have sixteen bits.
  package var isWide: Bool { planes.contains { $0.texel == .four16 } }

  /// Whether pixels have an alpha channel.
  package var isTransparent: Bool {
    if case .rgb(_, _, _, .some) = model { true } else { false }
  }

  /// The format without its alpha channel; nil if it has none, or has 16 bits.
  package var opaque: PixelFormat? {
    switch self {
    case .rgba: .rgbx
    case .bgra: .bgrx
    default: nil
    }
  }

  /// The planes, in memory order.
  package var planes: [PlaneDescription] {
    func plane(_ texel: TexelLayout, x: Int = 1, y: Int = 1, texelsPerColumn: Int = 1) -> PlaneDescription {
      PlaneDescription(
        texel: texel, subsampling: Subsampling(x: x, y: y), texelsPerColumn: texelsPerColumn)
    }
    return switch self {
    case .nv12, .nv21: [plane(.one8), plane(.two8, x: 2, y: 2)]
    case .i420, .yv12: [plane(.one8), plane(.one8, x: 2, y: 2), plane(.one8, x: 2, y: 2)]
    case .nv16: [plane(.one8), plane(.two8, x: 2)]
    case .yuyv, .uyvy, .yvyu: [plane(.two8, x: 2, texelsPerColumn: 2)]
    case .yuv444p: [plane(.one8), plane(.one8), plane(.one8)]
    case .yuv422p: [plane(.one8), plane(.one8, x: 2), plane(.one8, x: 2)]
    case .yuv440p: [plane(.one8), plane(.one8, y: 2), plane(.one8, y: 2)]
    case .yuv411p: [plane(.one8), plane(.one8, x: 4), plane(.one8, x: 4)]
    case .grey: [plane(.one8)]
    case .rgb24, .bgr24: [plane(.three8)]
    case .rgba, .bgra, .rgbx, .bgrx: [plane(.four8)]
    case .rgba64: [plane(.four16)]
    }
  }

  /// The components and their positions.
  package var model: ColorModel {
    let quarter = Subsampling(x: 2, y: 2)
    let half = Subsampling(x: 2, y: 1)
    func planar(_ chroma: Subsampling, cb: Int = 1, cr: Int = 2) -> ColorModel {
      .ycbcr(
        luma: Component(plane: 0, channel: 0), cb: Component(plane: cb, channel: 0, chroma),
        cr: Component(plane: cr, channel: 0, chroma))
    }
    func paired(_ chroma: Subsampling, cb: Int, cr: Int) -> ColorModel {
      .ycbcr(
        luma: Component(plane: 0, channel: 0), cb: Component(plane: 1, channel: cb, chroma),
        cr: Component(plane: 1, channel: cr, chroma))
    }
    // Packed in one row: luma is one channel of every texel, chroma the other channel of every other texel.
    func packed(luma: Int, cb: Int, cr: Int) -> ColorModel {
      .ycbcr(
        luma: Component(plane: 0, channel: luma),
        cb: Component(plane: 0, channel: 1 - luma, step: 2, offset: cb, half),
        cr: Component(plane: 0, channel: 1 - luma, step: 2, offset: cr, half))
    }
    func interleaved(red: Int, blue: Int, hasAlpha: Bool) -> ColorModel {
      .rgb(
        red: Component(plane: 0, channel: red), green: Component(plane: 0, channel: 1),
        blue: Component(plane: 0, channel: blue), alpha: hasAlpha ? Component(plane: 0, channel: 3) : nil)
    }
    return switch self {
    case .nv12: paired(quarter, cb: 0, cr: 1)
    case .nv21: paired(quarter, cb: 1, cr: 0)
    case .i420: planar(quarter)
    case .yv12: planar(quarter, cb: 2, cr: 1)
    case .nv16: paired(half, cb: 0, cr: 1)
    case .yuyv: packed(luma: 0, cb: 0, cr: 1)
    case .uyvy: packed(luma: 1, cb: 0, cr: 1)
    case .yvyu: packed(luma: 0, cb: 1, cr: 0)
    case .yuv444p: planar(.none)
    case .yuv422p: planar(half)
    case .yuv440p: planar(Subsampling(x: 1, y: 2))
    case .yuv411p: planar(Subsampling(x: 4, y: 1))
    case .grey: .luma(Component(plane: 0, channel: 0))
    case .rgb24, .rgbx: interleaved(red: 0, blue: 2, hasAlpha: false)
    case .bgr24, .bgrx: interleaved(red: 2, blue: 0, hasAlpha: false)
    case .rgba, .rgba64: interleaved(red: 0, blue: 2, hasAlpha: true)
    case .bgra: interleaved(red: 2, blue: 0, hasAlpha: true)
    }
  }

  /// Whether the samples are R'G'B', which have no matrix or range.
  package var isRGB: Bool {
    if case .rgb = model { true } else { false }
  }

  /// The largest code of a channel: 255 or 65535.
  package var maximumCode: Int { self == .rgba64 ? 65535 : 255 }

  /// Returns the bytes of an unpadded frame of `size`; nil if that overflows an `Int`.
  package func tightByteCount(of size: Size) -> Int? {
    // 16 bytes: a row of the widest texels, rounded up to a pair.
    guard size.width < Int.max / 16 else { return nil }
    var total = 0
    for plane in planes {
      let texels = plane.texels(of: size)
      let (row, rowOverflow) = texels.width.multipliedReportingOverflow(by: plane.texel.byteCount)
      let (bytes, overflow) = row.multipliedReportingOverflow(by: texels.height)
      let (sum, sumOverflow) = total.addingReportingOverflow(bytes)
      guard !rowOverflow, !overflow, !sumOverflow else { return nil }
      total = sum
    }
    return total
  }
}
