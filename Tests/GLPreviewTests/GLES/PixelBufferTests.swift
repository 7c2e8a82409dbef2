// Buffers for the way up, their pool, and the GPU's clock.
import TestSupport
import Testing

@testable import GLPreview

@Suite("Pixel buffers", .timeLimit(.minutes(15)))
struct PixelBufferTests {
  /// Texels that came up through a buffer, as they are read back.
  private func uploaded(_ rows: [UInt8], bytesPerRow: Int, width: Int, height: Int) throws -> [UInt8] {
    let target = try RenderTarget(Texture(.rgba8, width: width, height: height))
    let buffer = try PixelBuffer(byteCount: width * 4 * height, for: .upload)
    try buffer.replace(
      with: rows.span, bytesPerRow: bytesPerRow, rowByteCount: width * 4, rowCount: height)
    try target.texture.replace(from: buffer)
    var bytes = [UInt8](repeating: 0, count: width * height * 4)
    try target.read(into: &bytes)
    return bytes
  }

  @Test("rows are uploaded through a pixel buffer with and without padding between rows")
  func rows() async throws {
    let tight = (0..<24).map { UInt8($0) }
    let apart = Array([0, 8, 16].flatMap { tight[$0..<$0 + 8] + [99, 99, 99] }.dropLast(3))
    // More than is asked for is not read.
    let ways = [(tight, 8), (tight + [99], 8), (apart, 11)]
    let pictures = try await withContext {
      try ways.map { try uploaded($0, bytesPerRow: $1, width: 2, height: 3) }
    }
    #expect(pictures == [tight, tight, tight])
  }

  @Test("missing bytes at the end of a row or of the data are uploaded as zeros")
  func short() async throws {
    let rows = (1...10).map { UInt8($0) }

    let pictures = try await withContext {
      [
        try uploaded(rows, bytesPerRow: 6, width: 2, height: 2),
        try uploaded(rows, bytesPerRow: 8, width: 2, height: 2),
        // Nothing at all of the last two rows.
        try uploaded([1, 2, 3, 4], bytesPerRow: 4, width: 1, height: 3),
      ]
    }

    #expect(
      pictures == [
        [1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 0, 0, 0, 0],
        [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0],
      ])
  }

  @Test("rows beyond the buffer's end and a texture larger than its buffer are rejected")
  func bounds() async throws {
    try await withContext {
      let buffer = try PixelBuffer(byteCount: 16, for: .upload)
      let error = #expect(throws: GLError.self) {
        try buffer.replace(
          with: [UInt8](repeating: 1, count: 17).span, bytesPerRow: 17, rowByteCount: 17, rowCount: 1)
      }
      #expect(error?.reason == .size(needed: 17, given: 16))

      let texture = try Texture(.rgba8, width: 2, height: 3)
      #expect(throws: GLError.self) { try texture.replace(from: buffer) }

      try texture.replace(from: buffer, in: Rectangle(x: 0, y: 1, width: 2, height: 2))
      // What comes next from memory is not taken for a place in a buffer.
      try texture.replace(with: [UInt8](repeating: 1, count: 24).span, bytesPerRow: 8)
    }
  }

  @Test("a region is read back into a pixel buffer at an offset and a row pitch")
  func readRows() async throws {
    try await withContext {
      let target = try RenderTarget(Texture(.rgba8, width: 1, height: 2))
      try target.texture.replace(with: [1, 2, 3, 4, 5, 6, 7, 8].span, bytesPerRow: 4)
      let buffer = try PixelBuffer(byteCount: 20)

      target.clear([1, 1, 1, 1])
      try target.read(into: buffer, Rectangle(x: 0, y: 0, width: 1, height: 1))
      try target.texture.replace(with: [1, 2, 3, 4, 5, 6, 7, 8].span, bytesPerRow: 4)
      try target.read(into: buffer, at: 4, bytesPerRow: 12)
      let bytes = try buffer.withBytes { bytes in bytes.indices.map { bytes[$0] } }

      #expect(Array(bytes[0..<8]) == [255, 255, 255, 255, 1, 2, 3, 4])
      #expect(Array(bytes[16..<20]) == [5, 6, 7, 8])
      #expect(throws: GLError.self) { try target.read(into: buffer, at: 8, bytesPerRow: 12) }
    }
  }

  @Test(
    "a pool reuses buffers by rounded size and frees unused ones above its capacity"
  )
  func pool() async throws {
    try await withContext {
      let pool = PixelBufferPool(for: .upload, capacity: 2)
      let granule = 64 << 10

      let first = try pool.take(granule * 9)
      pool.giveBack(first)
      #expect(try pool.take(granule * 9 - 5) === first)
      #expect(try pool.take(granule * 8) !== first)

      pool.giveBack(first)
      for _ in 0..<3 {
        pool.idle.beginDrawing()
        let (one, other) = (try pool.take(1), try pool.take(granule))
        #expect(one !== other && one !== first && other !== first)
        #expect(one.object.byteCount == granule)
        pool.giveBack(one)
        pool.giveBack(other)
      }

      // The large one has gone.
      #expect(pool.idle.byteCount == granule * 2)
      #expect(try pool.take(granule * 9) !== first)
    }
  }

  @Test("a finished upload returns its buffers to the pool, and an unfinished one frees them")
  func upload() async throws {
    try await withContext {
      let pool = PixelBufferPool(for: .upload, capacity: 8)
      let texture = try Texture(.r8ui, width: 3, height: 2)

      for isFinished in [false, true] {
        let upload = BufferedUpload(pool)
        try upload.replace(texture, with: [1, 2, 3, 4, 5, 6].span, bytesPerRow: 3)
        try upload.replace(texture, with: [1, 2, 3, 4, 5, 6].span, bytesPerRow: 3)
        #expect(pool.idle.byteCount == 0)
        if isFinished { upload.finish() }
      }

      #expect(pool.idle.byteCount == 128 << 10)
      #expect(GLLedger.livingOnThisThread[.pixelBuffer] == 2)
    }
  }

  // MARK: Time

  @Test("a timer query measures the GPU time between its start and its end")
  func clock() async throws {
    try await withContext {
      guard TimerQuery.isSupported else {
        // Then there is no timer either.
        #expect(PassClock(isWanted: true).timer() == nil)
        return
      }

      let target = try RenderTarget(Texture(.rgba32ui, width: 256, height: 256))
      let program = try program(
        "uint sum = 0u; for (uint i = 0u; i < 500u; ++i) sum ^= i; result = uvec4(sum);")
      program.use()
      target.begin()
      var times: [Duration] = []

      for _ in 0..<3 {
        let start = ContinuousClock.now
        var query = TimerQuery()
        program.drawTriangle()
        #expect(query.result == nil, "it still counts")
        query.end()
        #expect(try Fence().wait(atMost: allTheTimeThereIs) == .done)
        if let result = query.result {
          times.append(result)
          // No longer than it took to ask and to be told.
          #expect(result <= ContinuousClock.now - start)
        }
      }

      #expect(times.contains { $0 > .zero })
      #expect(GLLedger.livingOnThisThread[.query] == nil)
    }
  }

  @Test("discarding a running timer query does not affect the next query")
  func abandonedQuery() async throws {
    try await withContext {
      guard TimerQuery.isSupported else { return }
      do { _ = TimerQuery() }
      var query = TimerQuery()
      query.end()
      try GLError.check("ending a query")
    }
  }

  @Test("an unwanted GPU clock creates no timer and reports no time")
  func unwanted() async throws {
    try await withContext {
      let clock = PassClock(isWanted: false)
      let timer = clock.timer()
      #expect(timer == nil)
      #expect(clock.time(of: nil) == nil)
    }
  }
}
