// Texture formats and their memory layouts.
internal import CGLES

/// The formats of planes, targets and tables. Names are OpenGL's: channels, bits per channel, type.
enum TextureFormat: Sendable, Hashable, CaseIterable {
  /// Samples of a plane, read by `usampler2D` as integers.
  case r8ui, rg8ui, rgba8ui
  /// Bytes that a shader writes as 0...1. The only format that `RenderTarget` reads back as bytes.
  case rgba8
  /// Words: pixels, sums, tables, or the bits of floats, because float targets are not always available.
  case rgba32ui

  var bytesPerTexel: Int { properties.bytesPerTexel }

  var internalFormat: GLenum { GLenum(properties.internalFormat) }

  var upload: PixelLayout { properties.upload }

  /// Tables 8.2 and 8.10 of the OpenGL ES 3.2 specification.
  private var properties: (bytesPerTexel: Int, internalFormat: Int32, upload: PixelLayout) {
    switch self {
    case .r8ui: (1, GL_R8UI, PixelLayout(GL_RED_INTEGER, GL_UNSIGNED_BYTE))
    case .rg8ui: (2, GL_RG8UI, PixelLayout(GL_RG_INTEGER, GL_UNSIGNED_BYTE))
    case .rgba8ui: (4, GL_RGBA8UI, PixelLayout(GL_RGBA_INTEGER, GL_UNSIGNED_BYTE))
    case .rgba8: (4, GL_RGBA8, PixelLayout(GL_RGBA, GL_UNSIGNED_BYTE))
    case .rgba32ui: (16, GL_RGBA32UI, PixelLayout(GL_RGBA_INTEGER, GL_UNSIGNED_INT))
    }
  }

  /// The layout in which every driver can read back a target of this format, and its bytes per texel.
  ///
  /// Section 16.1.3 of the specification: RGBA bytes from normalised targets, four words from unsigned ones.
  var readback: (layout: PixelLayout, bytesPerTexel: Int) {
    self == .rgba8
      ? (PixelLayout(GL_RGBA, GL_UNSIGNED_BYTE), 4) : (PixelLayout(GL_RGBA_INTEGER, GL_UNSIGNED_INT), 16)
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

extension Rectangle {
  /// The bytes from its first to its last texel in rows `bytesPerRow` apart; nil if a row is too short or on
  /// overflow.
  func byteCount(bytesPerRow: Int, bytesPerTexel: Int) -> Int? {
    let (row, rowOverflow) = width.multipliedReportingOverflow(by: bytesPerTexel)
    let (rows, rowsOverflow) = (height - 1).multipliedReportingOverflow(by: bytesPerRow)
    let (sum, sumOverflow) = rows.addingReportingOverflow(row)
    guard !rowOverflow, !rowsOverflow, !sumOverflow, bytesPerRow >= row else { return nil }
    return sum
  }
}
