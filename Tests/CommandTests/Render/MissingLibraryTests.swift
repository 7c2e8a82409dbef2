// Machines without FFmpeg's libraries, or with those of another version: what is said helps.
#if FFmpeg
  import Foundation
  import GLPreview
  import Testing

  @Suite("Missing FFmpeg libraries")
  struct MissingLibraryTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// What is said of a video where each file of `libraries` stands before the system's.
    private func answer() async throws -> String {
      try folder.write(Array("\0\0\0\u{18}ftypisom\0\0\0\0isommp42".utf8), to: "a.mp4")
      let result = try await folder.run(
        ["render", "a.mp4", "-o", "a.jpg"], environment: ["LD_LIBRARY_PATH": folder["libraries"].path])
      expectFailure(result, 65)
      return result.errors
    }

    /// Nothing can be loaded in place of any version of libavutil.
    private func hideLibraries() throws {
      try FileManager.default.createDirectory(at: folder["libraries"], withIntermediateDirectories: true)
      for major in 50..<80 { try folder.write([0], to: "libraries/libavutil.so.\(major)") }
    }

    @Test("without FFmpeg, the error names the missing library and the packages to install")
    func missing() async throws {
      try hideLibraries()

      let text = try await answer()

      #expect(text.contains(/FFmpeg's libraries are not installed \(libavutil\.so\.\d+\)/), "\(text)")
      #expect(text.contains(/apt-get install libavformat\d+ libavcodec\d+/), "\(text)")
    }

    @Test("another major version of FFmpeg is rejected, and the error names the installed version")
    func otherVersion() async throws {
      try hideLibraries()
      let file = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
      let maps = String(decoding: try #require(try file.readToEnd()), as: UTF8.self)
      let library = try #require(maps.split(separator: "\n").first { $0.hasSuffix("/libm.so.6") })
      let path = try #require(library.firstIndex(of: "/").map { String(library[$0...]) })
      let other = folder["libraries"].appending(path: "libavutil.so.55")
      try FileManager.default.removeItem(at: other)
      try FileManager.default.createSymbolicLink(atPath: other.path, withDestinationPath: path)

      let text = try await answer()

      #expect(text.contains("FFmpeg 3 is installed, and this glpreview was built for FFmpeg "), "\(text)")
    }
  }
#endif
