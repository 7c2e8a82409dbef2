import Glibc
import Testing

@testable import GLPreview

/// A byte that no other place near by has.
private func byte(_ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: index &* 37 &+ index / 256 &+ 11) }

/// What a shader fetches of every texel, as four words.
private func fetched(_ texture: borrowing Texture) throws -> [UInt32] {
  let target = try RenderTarget(Texture(.rgba32ui, width: texture.width, height: texture.height))
  let (sampler, value) =
    switch texture.format {
    case .rgba8: ("sampler2D", "uvec4(round(texelFetch(source, at, 0) * 255.0))")
    default: ("usampler2D", "texelFetch(source, at, 0)")
    }
  let program = try program(
    "ivec2 at = ivec2(gl_FragCoord.xy); result = \(value);", declarations: "uniform \(sampler) source;")
  target.begin()
  program.use()
  program.set("source", 3)
  texture.bind(unit: 3)
  program.drawTriangle()
  return try target.words()
}

/// What should be fetched of texels in memory, by the plain meaning of the format.
private func expected(_ format: TextureFormat, _ bytes: [UInt8], bytesPerRow: Int, width: Int, height: Int)
  -> [UInt32]
{
  let (channels, size, one): (Int, Int, UInt32) =
    switch format {
    case .r8ui: (1, 1, 1)
    case .rg8ui: (2, 1, 1)
    case .rgba8ui, .rgba8: (4, 1, 1)
    case .rgba32ui: (4, 4, 1)
    }
  var words: [UInt32] = []
  for y in 0..<height {
    for x in 0..<width {
      for channel in 0..<4 {
        if channel >= channels {
          words.append(channel == 3 ? one : 0)
        } else {
          let start = y * bytesPerRow + (x * channels + channel) * size
          words.append((0..<size).reduce(0) { $0 | UInt32(bytes[start + $1]) << UInt32(8 * $1) })
        }
      }
    }
  }
  return words
}

@Suite struct TextureTests {
  @Test(
    "texels are uploaded unchanged in every format, whatever the row padding",
    arguments: TextureFormat.allCases,
    [0, 1, 3, 16])
  func upload(format: TextureFormat, padding: Int) async throws {
    try await withContext {
      let (width, height) = (5, 4)
      let bytesPerRow = width * format.bytesPerTexel + padding
      let count = bytesPerRow * (height - 1) + width * format.bytesPerTexel
      let rows = (0..<count).map(byte)

      let texture = try Texture(format, width: width, height: height)
      try texture.replace(with: rows.span, bytesPerRow: bytesPerRow)

      #expect(
        try fetched(texture)
          == expected(format, rows, bytesPerRow: bytesPerRow, width: width, height: height))
    }
  }

  @Test("a large texture with padded rows is uploaded unchanged")
  func bands() async throws {
    try await withContext {
      let (width, height, bytesPerRow) = (1001, 301, 1001 * 2 + 1)
      let rows = (0..<bytesPerRow * height).map(byte)
      let target = try RenderTarget(Texture(.rg8ui, width: width, height: height))
      try target.texture.replace(with: rows.span, bytesPerRow: bytesPerRow)
      let right = expected(.rg8ui, rows, bytesPerRow: bytesPerRow, width: width, height: height)
      #expect(try target.words() == right)
    }
  }

  @Test("an upload into a region leaves the other texels unchanged")
  func region() async throws {
    try await withContext {
      let target = try RenderTarget(Texture(.r8ui, width: 4, height: 3))
      try target.texture.replace(with: [UInt8](repeating: 7, count: 12).span, bytesPerRow: 4)
      try target.texture.replace(
        with: [1, 2, 0, 3, 4].span, bytesPerRow: 3, in: Rectangle(x: 1, y: 1, width: 2, height: 2))
      let red = try target.words().enumerated().filter { $0.offset % 4 == 0 }.map(\.element)
      #expect(red == [7, 7, 7, 7, 7, 1, 2, 7, 7, 3, 4, 7])
    }
  }

  @Test("an upload does not read beyond the last texel", arguments: [0, 1, 2])
  func endOfRows(padding: Int) async throws {
    try await withContext {
      // Two pages, of which nobody may read the second; the rows end with the first.
      let page = Int(sysconf(Int32(_SC_PAGESIZE)))
      let (width, height) = (64, 7)
      let bytesPerRow = width * 2 + padding
      let count = bytesPerRow * (height - 1) + width * 2
      let memory = unsafe try #require(
        mmap(nil, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
      defer { unsafe munmap(memory, 2 * page) }
      unsafe try #require(mprotect(memory + page, page, PROT_NONE) == 0)
      let rows = unsafe UnsafeMutableRawBufferPointer(start: memory + page - count, count: count)
      for index in 0..<count { unsafe rows[index] = byte(index) }

      let target = try RenderTarget(Texture(.rg8ui, width: width, height: height))
      unsafe try target.texture.replace(
        with: Span(_unsafeBytes: UnsafeRawBufferPointer(rows)), bytesPerRow: bytesPerRow)

      let right = expected(
        .rg8ui, (0..<count).map(byte), bytesPerRow: bytesPerRow, width: width, height: height)
      #expect(try target.words() == right)
    }
  }

  @Test("uploading from a span that is one byte short throws the needed and given sizes")
  func shortSpan() async throws {
    try await withContext {
      let texture = try Texture(.rg8ui, width: 4, height: 3)
      let rows = [UInt8](repeating: 1, count: 10 * 2 + 8 - 1)
      let error = #expect(throws: GLError.self) { try texture.replace(with: rows.span, bytesPerRow: 10) }
      #expect(error?.reason == .size(needed: 28, given: 27))
      #expect(error?.description == "uploading 4x3+0+0 of a 4x3 rg8ui texture: 27 bytes where 28 are needed")
    }
  }

  @Test(
    "an upload with a region outside the texture or an invalid row pitch is rejected",
    arguments: [
      (Rectangle(x: 1, y: 0, width: 4, height: 1), 8), (Rectangle(x: -1, y: 0, width: 1, height: 1), 8),
      (Rectangle(x: 0, y: 0, width: 0, height: 1), 8), (Rectangle(x: .max, y: 0, width: 1, height: 1), 8),
      (Rectangle(x: 0, y: 0, width: 4, height: 3), 7), (Rectangle(x: 0, y: 0, width: 4, height: 3), .max),
      (Rectangle(x: 0, y: 0, width: 4, height: 3), -8),
    ])
  func bounds(region: Rectangle, bytesPerRow: Int) async throws {
    try await withContext {
      let texture = try Texture(.rg8ui, width: 4, height: 3)
      let rows = [UInt8](repeating: 1, count: 64)
      #expect(throws: GLError.self) {
        try texture.replace(with: rows.span, bytesPerRow: bytesPerRow, in: region)
      }
    }
  }

  @Test(
    "a texture with an invalid width throws GL_INVALID_VALUE and names its size and format",
    arguments: [0, -1, 1 << 20, .max])
  func size(width: Int) async throws {
    try await withContext {
      let error = #expect(throws: GLError.self) { _ = try Texture(.rgba8, width: width, height: 1) }
      #expect(error?.activity == "a \(width)x1 rgba8 texture")
      #expect(error?.reason == .flag(0x0501))
      #expect(error?.description.hasSuffix("GL_INVALID_VALUE") == true)
    }
  }

  @Test("a table of 32-bit words is uploaded bit for bit")
  func table() async throws {
    try await withContext {
      let texture = try Texture(.rgba32ui, width: 1, height: 2)
      let words: [UInt32] = [0, 1, 0x7fc0_0001, .max, 0x8000_0000, 255, 65536, 7]
      try texture.replace(with: words.span)
      #expect(try fetched(texture) == words)
    }
  }

  @Test("creating and filling a texture does not unbind another one")
  func place() async throws {
    try await withContext {
      let bound = try Texture(.r8ui, width: 1, height: 1)
      try bound.replace(with: [7].span, bytesPerRow: 1)
      let target = try RenderTarget(Texture(.rgba32ui, width: 1, height: 1))
      let program = try program(
        "result = texelFetch(source, ivec2(0), 0);", declarations: "uniform usampler2D source;")
      program.use()
      program.set("source", 3)
      bound.bind(unit: 3)

      let other = try Texture(.r8ui, width: 1, height: 1)
      try other.replace(with: [9].span, bytesPerRow: 1)
      target.begin()
      program.drawTriangle()

      #expect(try target.words() == [7, 0, 0, 1])
    }
  }
}
