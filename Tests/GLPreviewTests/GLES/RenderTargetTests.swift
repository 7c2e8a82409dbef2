import Testing

@testable import GLPreview

@Suite struct RenderTargetTests {
  @Test("clearing a render target sets every pixel to the expected bytes")
  func clear() async throws {
    try await withContext {
      let target = try RenderTarget(Texture(.rgba8, width: 3, height: 2))
      target.clear([0.2, 0.4, 0.8, 1])
      var bytes = [UInt8](repeating: 0, count: 24)
      try target.read(into: &bytes)
      #expect(bytes == Array(repeating: [51, 102, 204, 255], count: 6).flatMap(\.self))
    }
  }

  @Test("an upload and a readback keep the order of rows")
  func firstRow() async throws {
    try await withContext {
      let target = try RenderTarget(Texture(.rgba8, width: 1, height: 2))
      try target.texture.replace(with: [1, 2, 3, 4, 5, 6, 7, 8].span, bytesPerRow: 4)
      var bytes = [UInt8](repeating: 0, count: 8)
      try target.read(into: &bytes)
      #expect(bytes == [1, 2, 3, 4, 5, 6, 7, 8])
    }
  }

  @Test("a region is read back into rows with padding, and the padding is not written")
  func readRegion() async throws {
    try await withContext {
      let target = try RenderTarget(Texture(.rgba8, width: 3, height: 3))
      let rows = (0..<36).map { UInt8($0) }
      try target.texture.replace(with: rows.span, bytesPerRow: 12)
      var bytes = [UInt8](repeating: 99, count: 20)

      try unsafe bytes.withUnsafeMutableBytes {
        unsafe try target.read(into: $0, bytesPerRow: 12, Rectangle(x: 1, y: 1, width: 2, height: 2))
      }

      #expect(bytes == [16, 17, 18, 19, 20, 21, 22, 23, 99, 99, 99, 99, 28, 29, 30, 31, 32, 33, 34, 35])
    }
  }

  @Test("reading back into memory that is too short is rejected")
  func shortMemory() async throws {
    try await withContext {
      let target = try RenderTarget(Texture(.rgba8, width: 3, height: 3))
      var bytes = [UInt8](repeating: 0, count: 35)
      let error = #expect(throws: GLError.self) { try target.read(into: &bytes) }
      #expect(error?.reason == .size(needed: 36, given: 35))
    }
  }

  @Test("drawing is limited to the viewport")
  func viewport() async throws {
    try await withContext {
      let target = try RenderTarget(Texture(.rgba32ui, width: 4, height: 1))
      try target.texture.replace(with: [UInt32](repeating: 9, count: 16).memory.span, bytesPerRow: 64)
      let program = try program("result = uvec4(1u);")

      target.begin(Rectangle(x: 1, y: 0, width: 2, height: 1))
      program.use()
      program.drawTriangle()

      #expect(try target.words().enumerated().filter { $0.offset % 4 == 0 }.map(\.element) == [9, 1, 1, 9])
    }
  }

  @Test("a pixel buffer holds what was drawn before its fence, once the fence is signalled")
  func pixelBuffer() async throws {
    try await withContext {
      let target = try RenderTarget(Texture(.rgba8, width: 2, height: 2))
      let buffer = try PixelBuffer(byteCount: 4 + 16)

      target.clear([1, 0, 0, 1])
      try target.read(into: buffer, at: 4)
      let fence = try Fence()
      // Drawn after the fence, so not in the buffer.
      target.clear([0, 1, 0, 1])

      #expect(try fence.wait(atMost: .seconds(60)) == .done)
      #expect(try fence.wait(atMost: .zero) == .done)
      let bytes = try buffer.withBytes { bytes in
        (4..<20).map { bytes[$0] }
      }
      #expect(bytes == Array(repeating: [255, 0, 0, 255], count: 4).flatMap(\.self))
    }
  }

  @Test("a readback beyond the end of a pixel buffer is rejected", arguments: [-4, 1, 20, .max])
  func pixelBufferBounds(offset: Int) async throws {
    try await withContext {
      let target = try RenderTarget(Texture(.rgba8, width: 2, height: 2))
      let buffer = try PixelBuffer(byteCount: 16)
      #expect(throws: GLError.self) { try target.read(into: buffer, at: offset) }
      #expect(throws: GLError.self) { try buffer.withBytes(0..<17) { _ in } }
    }
  }

  @Test("the ledger counts live OpenGL objects, and none after the context ends")
  func ledger() async throws {
    try await withContext {
      let target = try RenderTarget(Texture(.rgba8, width: 2, height: 2))
      let buffer = try PixelBuffer(byteCount: 16)
      try target.read(into: buffer)
      #expect(GLLedger.livingOnThisThread == [.context: 1, .texture: 1, .framebuffer: 1, .pixelBuffer: 1])
    }
  }
}
