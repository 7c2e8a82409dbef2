// Programs that are kept and taken again, on whatever device is there; where its driver gives no binaries, nothing is kept.
import Foundation
import Testing

@testable import GLPreview

private let fragment = ShaderText(
  fileName: "kept.frag",
  text: """
    #version 300 es
    precision highp float;
    precision highp int;
    uniform uvec2 words;
    uniform int word;
    out uvec4 result;
    void main() { result = uvec4(WORD, word, 3, 4); }
    """)

private var sources: [String] {
  [fullscreen, fragment].map { ShaderProgram.source($0.text, ["WORD 5"]) }
}

/// Makes the program, draws with it, and tells where it came from.
private func drawn(_ binaries: ProgramBinaryCache?, word: Int = 5) throws -> ShaderProgram.Origin {
  let program = try ShaderProgram(
    vertex: fullscreen, fragment: fragment, defines: ["WORD \(word)"], binaries: binaries)
  let target = try RenderTarget(Texture(.rgba32ui, width: 1, height: 1))
  target.begin()
  program.use()
  program.set("word", 9)
  program.drawTriangle()
  #expect(try target.words() == [UInt32(word), 9, 3, 4])
  try GLError.check("drawing by a program")
  return program.origin
}

@Suite struct ProgramBinaryCacheTests {
  private let cache: TestCache

  init() throws { cache = try TestCache() }

  /// Does `work` with a cache in a context whose driver gives binaries; else finds that there is no cache.
  private func withBinaries(_ work: @Sendable (ProgramBinaryCache) throws -> Void) async throws {
    let cache = cache
    try await withContext {
      guard let binaries = ProgramBinaryCache(cache.folder) else {
        #expect(try drawn(nil) == .sources)
        return
      }
      try work(binaries)
    }
  }

  /// The one file that was kept.
  private static func file(_ cache: TestCache) throws -> URL {
    let names = try cache.names
    try #require(names.count == 1)
    return URL(filePath: cache.path + "/" + names[0])
  }

  @Test("a program is compiled once, and its cached binary draws the same in later contexts")
  func keeps() async throws {
    let cache = cache
    try await withBinaries { binaries throws in
      #expect(try drawn(binaries) == .sources)
      #expect(try drawn(binaries) == .binary)
      #expect(try drawn(binaries, word: 6) == .sources)
      #expect(try drawn(binaries, word: 6) == .binary)
      #expect(try drawn(binaries) == .binary)
      #expect(try cache.names.count == 2)
    }

    // The next context is another run's, but for the process.
    try await withBinaries { binaries throws in #expect(try drawn(binaries) == .binary) }
  }

  @Test("without a folder there is no cache")
  func noFolder() async throws {
    try await withContext { #expect(ProgramBinaryCache(nil) == nil) }
  }

  @Test("a truncated, changed, empty or enlarged cache file is replaced by a recompiled program")
  func damage() async throws {
    let cache = cache
    try await withBinaries { binaries in
      #expect(try drawn(binaries) == .sources)

      let whole = try Data(contentsOf: Self.file(cache))
      var changed = whole
      changed[changed.count / 2] ^= 1
      let damaged = [
        Data(), whole.prefix(50), whole.dropLast(), changed, whole + whole, Data(count: 5 << 20),
      ]

      for bytes in damaged {
        try bytes.write(to: Self.file(cache))
        #expect(try drawn(binaries) == .sources)
        #expect(try drawn(binaries) == .binary)
        #expect(try Data(contentsOf: Self.file(cache)).count == whole.count)
      }
    }
  }

  @Test("a binary cached for another driver or driver version is not used")
  func otherDriver() async throws {
    let cache = cache
    try await withBinaries { binaries in
      #expect(try drawn(binaries) == .sources)

      let file = try Self.file(cache)
      let format = try #require(
        ProgramBinaryFile.decode(
          [UInt8](Data(contentsOf: file)),
          for: binaries.key(for: sources))
      ).format
      let updated = ProgramBinaryCache(cache.folder, driver: ["Mesa", "llvmpipe", "99"], formats: [format])

      #expect(try drawn(updated) == .sources)
      #expect(try drawn(updated) == .binary)
      #expect(try cache.names.count == 2)

      // Its file under the name that ours has is still its file.
      let other = try #require(cache.names.first { $0 != file.lastPathComponent })
      try Data(contentsOf: URL(filePath: cache.path + "/" + other)).write(to: file)
      #expect(try drawn(binaries) == .sources)
    }
  }

  @Test("a binary that the driver rejects is recompiled and replaced without a GL error")
  func refused() async throws {
    try await withBinaries { binaries in
      #expect(try drawn(binaries) == .sources)

      let key = binaries.key(for: sources)
      let kept = try #require(binaries.binary(for: key))
      let refused = [
        ProgramBinary(format: kept.format, bytes: [UInt8](repeating: 0x5A, count: kept.bytes.count)),
        ProgramBinary(format: kept.format, bytes: [1]),
        // Not even a format of this driver.
        ProgramBinary(format: 0x1234, bytes: kept.bytes),
      ]

      for binary in refused {
        binaries.keep(binary, for: key)
        #expect(try drawn(binaries) == .sources)
        #expect(binaries.binary(for: key)?.bytes.count == kept.bytes.count)
      }
    }
  }

  @Test("caching a program trims a cache that exceeds its size limit")
  func bounded() async throws {
    let cache = cache
    try await withBinaries { binaries throws in
      for number in 0..<7 {
        cache.folder.write([UInt8](repeating: 1, count: 3 << 20), to: "\(number).bin")
      }

      #expect(try drawn(binaries) == .sources)
      #expect(try cache.names.count == 6)
      #expect(try drawn(binaries) == .binary)
    }
  }
}
