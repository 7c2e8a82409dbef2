// Texture formats and their memory layouts.
internal import CGLES

/// The formats of planes, targets and tables. Names are OpenGL's: channels, bits per channel, type.
enum TextureFormat: Sendable, Hashable, CaseIterable {
  /// Samples of a plane, read by `usampler2D` as integers.
  case r8ui, rg8ui, rgb8ui, rgba8ui, rgba16ui
  /// Bytes that a shader writes as 0...1. The only format that `RenderTarget` reads back as bytes.
  case rgba8
  /// Words; as targets they hold the bits of floats, because float targets are not always available.
  case r32ui, rg32ui, rgba32ui
  /// Tap tables, read by `sampler2D` and `texelFetch`.
  case rg32f

  var bytesPerTexel: Int {
    switch self {
    case .r8ui: 1
    case .rg8ui: 2
    case .rgb8ui: 3
    case .rgba8ui, .rgba8, .r32ui: 4
    case .rgba16ui, .rg32ui, .rg32f: 8
    case .rgba32ui: 16
    }
  }

  /// Tables 8.2 and 8.10 of the OpenGL ES 3.2 specification.
  var internalFormat: GLenum {
    switch self {
    case .r8ui: GLenum(GL_R8UI)
    case .rg8ui: GLenum(GL_RG8UI)
    case .rgb8ui: GLenum(GL_RGB8UI)
    case .rgba8ui: GLenum(GL_RGBA8UI)
    case .rgba16ui: GLenum(GL_RGBA16UI)
    case .rgba8: GLenum(GL_RGBA8)
    case .r32ui: GLenum(GL_R32UI)
    case .rg32ui: GLenum(GL_RG32UI)
    case .rgba32ui: GLenum(GL_RGBA32UI)
    case .rg32f: GLenum(GL_RG32F)
    }
  }

  /// The layout of uploaded rows.
  var upload: PixelLayout {
    switch self {
    case .r8ui: PixelLayout(GL_RED_INTEGER, GL_UNSIGNED_BYTE)
    case .rg8ui: PixelLayout(GL_RG_INTEGER, GL_UNSIGNED_BYTE)
    case .rgb8ui: PixelLayout(GL_RGB_INTEGER, GL_UNSIGNED_BYTE)
    case .rgba8ui: PixelLayout(GL_RGBA_INTEGER, GL_UNSIGNED_BYTE)
    case .rgba16ui: PixelLayout(GL_RGBA_INTEGER, GL_UNSIGNED_SHORT)
    case .rgba8: PixelLayout(GL_RGBA, GL_UNSIGNED_BYTE)
    case .r32ui: PixelLayout(GL_RED_INTEGER, GL_UNSIGNED_INT)
    case .rg32ui: PixelLayout(GL_RG_INTEGER, GL_UNSIGNED_INT)
    case .rgba32ui: PixelLayout(GL_RGBA_INTEGER, GL_UNSIGNED_INT)
    case .rg32f: PixelLayout(GL_RG, GL_FLOAT)
    }
  }

  /// The layout in which every driver can read back a target of this format, and its bytes per texel.
  ///
  /// Section 16.1.3 of the specification: RGBA bytes from normalised targets, four words from unsigned ones.
  var readback: (layout: PixelLayout, bytesPerTexel: Int) {
    switch self {
    case .rgba8: (PixelLayout(GL_RGBA, GL_UNSIGNED_BYTE), 4)
    case .rg32f: (PixelLayout(GL_RGBA, GL_FLOAT), 16)
    default: (PixelLayout(GL_RGBA_INTEGER, GL_UNSIGNED_INT), 16)
    }
  }
}

/// OpenGL's format and type of texels in memory.
struct PixelLayout: Sendable, Equatable {
  let format: GLenum
  let type: GLenum

  init(_ format: Int32, _ type: Int32) {
    self.format = GLenum(format)
    self.type = GLenum(type)
  }
}

/// Maps stored channels to the red, green, blue and alpha that a shader fetches. Does not affect drawing and
/// readback.
struct Swizzle: Sendable, Hashable {
  enum Channel: Sendable { case red, green, blue, alpha, one }

  let red: Channel
  let green: Channel
  let blue: Channel
  let alpha: Channel

  /// As stored.
  static let rgba = Swizzle(red: .red, green: .green, blue: .blue, alpha: .alpha)
  /// Blue first in memory.
  static let bgra = Swizzle(red: .blue, green: .green, blue: .red, alpha: .alpha)
}

extension Swizzle.Channel {
  var name: GLint {
    switch self {
    case .red: GL_RED
    case .green: GL_GREEN
    case .blue: GL_BLUE
    case .alpha: GL_ALPHA
    case .one: GL_ONE
    }
  }
}

/// A rectangle of texels. The first row is the first in memory, whatever OpenGL's orientation.
struct TexelRegion: Sendable, Hashable, CustomStringConvertible {
  let x: Int
  let y: Int
  let width: Int
  let height: Int

  var description: String { "\(width)x\(height)+\(x)+\(y)" }

  /// Whether it is not empty and inside a texture of this size.
  func isInside(width: Int, height: Int) -> Bool {
    x >= 0 && y >= 0 && self.width > 0 && self.height > 0
      && x <= width - self.width && y <= height - self.height
  }

  /// The bytes from its first to its last texel in rows that are `bytesPerRow` apart; nil if a row is too short or
  /// the sum overflows.
  func byteCount(bytesPerRow: Int, bytesPerTexel: Int) -> Int? {
    let (row, rowOverflow) = width.multipliedReportingOverflow(by: bytesPerTexel)
    let (rows, rowsOverflow) = (height - 1).multipliedReportingOverflow(by: bytesPerRow)
    let (sum, sumOverflow) = rows.addingReportingOverflow(row)
    guard !rowOverflow, !rowsOverflow, !sumOverflow, bytesPerRow >= row else { return nil }
    return sum
  }
}
