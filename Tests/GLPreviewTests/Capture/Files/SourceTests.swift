// Sources as the command sees them: what is opened as what, what comes out, what is refused and how.
import Foundation
import PreviewCore
import TestSupport
import Testing

@testable import CaptureCore
@testable import GLPreview

/// The error that `body` ends with.
private func sourceError(_ body: () async throws -> Void) async -> SourceError? {
  do {
    try await body()
    return nil
  } catch { return error as? SourceError }
}

@Suite("SourceLocator")
struct SourceLocatorTests {
  @Test(
    "a file's format is detected by its first bytes, whatever its name",
    arguments: ["a.jpg", "a.png", "a.y4m", "a.txt"])
  func sniffing(name: String) async throws {
    let png = TestPNG(width: 3, height: 2, type: .rgb, depth: 8) { x, y in [x, y, 0] }.bytes
    let formats: [([UInt8], PixelFormat)] = [
      (try smallJPEG(), .i420), (png, .rgb24),
      (Array("YUV4MPEG2 W2 H2 Cmono\nFRAME\n\u{1}\u{2}\u{3}\u{4}".utf8), .grey),
    ]

    for (bytes, format) in formats {
      let all = try await withFile(bytes, named: name) { try await frames($0) }
      #expect(all.map(\.format.pixelFormat) == [format])
    }
  }

  @Test("a file is read as raw frames if an input format is given")
  func rawWins() async throws {
    let jpeg = try smallJPEG()
    let options = SourceOptions(inputFormat: .grey, inputSize: Size(width: jpeg.count, height: 1))
    let all = try await withFile(jpeg, named: "a.jpg") { try await frames($0, options) }
    #expect(all.map(\.bytes) == [jpeg])
  }

  @Test("a path that can't be opened throws an error with its kind and a one-line message")
  func refusals() async throws {
    let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false)
    let cases: [(String, SourceError.Kind, String)] = [
      ("/no/such/file.jpg", .notFound, "/no/such/file.jpg: no such file"),
      (folder, .unreadable, "\(folder): is a directory"),
      ("", .badRequest, ": not a path"),
      ("two\nlines", .notFound, "two\u{FFFD}lines: no such file"),
    ]

    for (text, kind, message) in cases {
      let error = await sourceError { _ = try await SourceLocator(text).open() }
      #expect(error?.kind == kind)
      #expect(error?.description == message)
    }
  }

  @Test("an empty or unknown file throws a `.badData` error")
  func badData() async throws {
    for (bytes, reason) in [([], "is empty"), (Array("hello".utf8), "is not a JPEG, PNG")] {
      let error = try await withFile(bytes) { path in await sourceError { _ = try await frames(path) } }
      #expect(error?.kind == .badData)
      #expect(error?.reason.hasPrefix(reason) == true)
    }
  }

  @Test(
    "the error for an unsupported file or pipe names its format",
    arguments: [
      ("RIFF\u{1}\u{2}\u{3}\u{4}WEBPVP8 ", "a WebP picture"),
      ("II*\0\u{8}\0\0\0", "a TIFF picture, or a camera's raw picture"),
      ("\0\0\0\u{18}ftypheic\0\0\0\0mif1heic", "an HEIC picture"),
      ("BM\u{1}\u{2}\u{3}\0\0\0\0\0\u{36}\0\0\0\u{28}\0\0\0\u{8}", "a BMP picture"),
      ("\0\0\0\u{C}JXL \r\n", "a JPEG XL picture"), ("8BPS\0\u{1}", "a Photoshop picture"),
      ("%PDF-1.7\n", "a PDF document"), ("<!DOCTYPE html><p>Login", "a web page"),
    ])
  func unsupported(start: String, name: String) async throws {
    let bytes = Array(start.utf8) + [UInt8](repeating: 7, count: 100)
    let expected = "is \(name), which is not supported: use JPEG, PNG, Y4M or a video"
    let error = try await withFile(bytes, named: "a.jpg") { path in
      await sourceError { _ = try await frames(path) }
    }
    #expect(error?.kind == .badData)
    #expect(error?.reason == expected)
    let piped = try await withFIFO(bytes) { fifo in
      await sourceError { _ = try await frames(fifo, .lossless()) }
    }
    #expect(piped?.reason == expected)
  }

  @Test("a local file URL is percent-decoded, and one with another host is rejected")
  func fileURLs() async throws {
    let jpeg = try smallJPEG()
    try await withFile(jpeg, named: "a b#1.jpg") { path in
      let encoded = path.replacing(" ", with: "%20").replacing("#", with: "%23")
      for prefix in ["file:", "file://", "FILE://", "file://localhost"] {
        #expect(SourceLocator(prefix + encoded).text == path)
        let all = try await frames(prefix + encoded)
        #expect(all.count == 1)
      }
    }
    for url in ["file://server/share/a.jpg", "file://", "file://a"] {
      let error = await sourceError { _ = try await SourceLocator(url).open() }
      #expect(error?.kind == .badRequest)
      #expect(error?.reason == "is not a file of this machine: use file:///PATH")
    }
    // Not URLs.
    for text in ["file:a.jpg", "file", "/file:///a.jpg"] { #expect(SourceLocator(text).text == text) }
  }

  @Test("a file list may have a byte order mark, CRLF or UTF-16; an empty list is rejected")
  func lists() async throws {
    let text = "a.jpg\r\n\r\nb ä.jpg\r\n🚪.png"
    let wide = text.utf16.map { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    let lists: [[UInt8]] = [
      Array(text.utf8), Array("\u{FEFF}\(text)".utf8), [0xFF, 0xFE] + wide.flatMap(\.self),
      [0xFE, 0xFF] + wide.flatMap { $0.reversed() },
      // Half a unit at the end.
      [0xFF, 0xFE] + wide.flatMap(\.self) + [0x61],
    ]
    for list in lists {
      let lines = try await withFile(list) { try SourceList.read($0) }
      #expect(lines == ["a.jpg", "b ä.jpg", "🚪.png"])
    }
    for nothing in [[], [0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFF, 0xFE, 0x61], Array("\r\n".utf8)] as [[UInt8]]
    {
      let error = try await withFile(nothing) { path in await sourceError { _ = try SourceList.read(path) } }
      #expect(error?.reason == "lists no files")
    }
  }

  @Test("an invalid frame rate is rejected as a bad request", arguments: [0, -1, .nan, .infinity, 1e-9, 1e9])
  func badRates(rate: Double) async throws {
    let error = await sourceError {
      _ = try await SourceLocator("pattern:smpte").open(SourceOptions(framesPerSecond: rate))
    }
    #expect(error?.kind == .badRequest)
  }

  @Test("the user's matrix and range override those of a JPEG file")
  func colorOverride() async throws {
    let options = SourceOptions(color: ColorDescription.Override(matrix: .bt2020, range: .limited))
    let all = try await withFile(smallJPEG()) { try await frames($0, options) }
    #expect(all.first?.format.color == ColorDescription(matrix: .bt2020, range: .limited, siting: .centred))
  }

  @Test("a FIFO gives a stream of frames and can't be rewound")
  func fifo() async throws {
    let jpeg = try smallJPEG()
    try await withFIFO(jpeg + jpeg) { fifo in
      let source = try await SourceLocator(fifo).open(.lossless())
      var count = 0
      while try await source.nextFrame() != nil { count += 1 }
      #expect(count == 2)

      let error = await sourceError { try await source.rewind() }
      #expect(error?.kind == .badRequest)
    }
  }

  @Test("opening a FIFO without a writer throws CancellationError if its task is cancelled")
  func cancellation() async throws {
    try await withFile([]) { path in
      try #require(unsafe mkfifo(path + ".fifo", 0o600) == 0)
      let opening = Task { _ = try await SourceLocator(path + ".fifo").open(.lossless()) }
      opening.cancel()
      await #expect(throws: CancellationError.self) { try await opening.value }
    }
  }

  @Test("two multi-picture (MPF) JPEGs in a FIFO are read as one picture")
  func stillInStream() async throws {
    let still = inserting(0xE2, Array("MPF\0".utf8) + [0], into: try smallJPEG())
    try await withFIFO(still + still) { fifo in
      let source = try await SourceLocator(fifo).open(.lossless())
      #expect(try await source.nextFrame() != nil)
      #expect(try await source.nextFrame() == nil)
      try await source.rewind()
      #expect(try await source.nextFrame() != nil)
    }
  }
}

@Suite("ImageFileSource")
struct ImageFileSourceTests {
  @Test("an image file gives one frame, again after a rewind, and ignores trailing bytes")
  func once() async throws {
    let jpeg = try smallJPEG()
    try await withFile(jpeg + jpeg + [1, 2, 3], named: "a.jpg") { path in
      let source = try await SourceLocator(path).open()
      #expect(source.name == path)
      let first = try await source.nextFrame()
      #expect(first?.sequence == 0 && first?.timestamp == .start)
      #expect(try await source.nextFrame() == nil)

      try await source.rewind()
      #expect(try await source.nextFrame()?.bytes == first?.bytes)
    }
  }

  @Test("a truncated JPEG file is rejected when it is opened")
  func cut() async throws {
    let jpeg = try smallJPEG()
    let error = try await withFile(Array(jpeg.dropLast(30)), named: "cut.jpg") { path in
      await sourceError { _ = try await SourceLocator(path).open() }
    }
    #expect(error?.kind == .badData)
    #expect(error?.reason == "JPEG is cut short")
  }
}

@Suite("RawVideoSource")
struct RawVideoSourceTests {
  @Test(
    "a raw file of any pixel format is split into whole frames, and a partial one is rejected",
    arguments: [
      (PixelFormat.nv12, 24, 27), (.nv21, 24, 27), (.i420, 24, 27), (.yv12, 24, 27), (.nv16, 32, 33),
      (.yuyv, 32, 36), (.uyvy, 32, 36), (.yvyu, 32, 36), (.yuv422p, 32, 33), (.yuv440p, 32, 35),
      (.yuv411p, 24, 27), (.yuv444p, 48, 45), (.grey, 16, 15), (.rgb24, 48, 45), (.bgr24, 48, 45),
      (.rgba, 64, 60), (.bgra, 64, 60), (.rgba64, 128, 120),
    ])
  func byteCounts(format: PixelFormat, even: Int, odd: Int) async throws {
    for (size, count) in [(Size(width: 4, height: 4), even), (Size(width: 5, height: 3), odd)] {
      let bytes = (0..<(3 * count)).map { UInt8(truncatingIfNeeded: $0) }
      let options = SourceOptions(inputFormat: format, inputSize: size)

      let all = try await withFile(bytes) { try await frames($0, options) }

      #expect(all.count == 3)
      #expect(all.flatMap(\.bytes) == bytes)
      #expect(all.map(\.sequence) == [0, 1, 2])

      let error = try await withFile(bytes.dropLast()) { path in
        await sourceError { _ = try await SourceLocator(path).open(options) }
      }
      #expect(error?.kind == .badData)
      #expect(
        error?.reason
          == "\(bytes.count - 1) bytes are not a whole number of \(size) \(format) frames of \(count) bytes")
    }
  }

  @Test("raw frames default to limited range, left siting and a matrix that depends on their size")
  func colors() async throws {
    let cases: [(Size, ColorDescription.Matrix)] = [
      (Size(width: 64, height: 2), .bt601), (Size(width: 1280, height: 2), .bt709),
    ]

    for (size, matrix) in cases {
      let bytes = [UInt8](repeating: 0, count: PixelFormat.nv12.tightByteCount(of: size) ?? 0)
      let options = SourceOptions(inputFormat: .nv12, inputSize: size, framesPerSecond: 25)
      let all = try await withFile(bytes + bytes) { try await frames($0, options) }
      #expect(all.first?.format.color == ColorDescription(matrix: matrix, range: .limited, siting: .left))
      #expect(all.last?.timestamp == .millisecond(40))
    }
  }

  @Test("a raw file without a valid frame size is rejected as a bad request")
  func sizes() async throws {
    for size in [
      nil, Size(width: 0, height: 5), Size(width: .max, height: .max), Size(width: -4, height: -4),
    ] {
      let error = try await withFile([1]) { path in
        await sourceError {
          _ = try await SourceLocator(path).open(SourceOptions(inputFormat: .nv12, inputSize: size))
        }
      }
      #expect(error?.kind == .badRequest)
    }
  }

  @Test("the error for a truncated frame of a raw stream has its number and byte count")
  func cutStream() async throws {
    try await withFIFO([UInt8](repeating: 7, count: 10)) { fifo in
      let options = SourceOptions(inputFormat: .grey, inputSize: Size(width: 2, height: 2))
      let source = try await SourceLocator(fifo).open(.lossless(options))
      #expect(try await source.nextFrame()?.sequence == 0)
      #expect(try await source.nextFrame()?.sequence == 1)
      let error = await sourceError { _ = try await source.nextFrame() }
      #expect(error?.reason == "frame 2 is cut short: 2 of 4 bytes")
    }
  }
}

@Suite("TestPatternSource")
struct TestPatternSourceTests {
  @Test(
    "a test pattern has 1280x720 at 30 frames per second by default",
    arguments: ["smpte", "gradient", "zoneplate"])
  func defaults(name: String) async throws {
    let all = try await frames("pattern:\(name)", limit: 2)
    #expect(all.map(\.format.size) == [Size(width: 1280, height: 720), Size(width: 1280, height: 720)])
    #expect(all.last?.timestamp.sinceStart == .nanoseconds(33_333_333))
    #expect(all.first?.bytes == all.last?.bytes)
  }

  @Test("the smpte pattern draws the colour bars of ECR 1-1978")
  func smpte() async throws {
    let frame = try #require(try await frames("pattern:smpte,size=84x48", limit: 1).first)

    let bars = (0..<7).map { rgb(frame, 12 * $0 + 6, 10) }
    #expect(
      bars == [
        [191, 191, 191], [191, 191, 0], [0, 191, 191], [0, 191, 0], [191, 0, 191], [191, 0, 0], [0, 0, 191],
      ])

    let castellations = (0..<7).map { rgb(frame, 12 * $0 + 6, 34) }
    #expect(castellations == bars.reversed().enumerated().map { $0 % 2 == 0 ? $1 : [0, 0, 0] })
    #expect(rgb(frame, 20, 40) == [255, 255, 255])
    #expect([61, 65, 69, 75].map { rgb(frame, $0, 40)[0] } == [0, 0, 10, 0])
  }

  @Test("frames of the counter pattern differ, and a rewind gives the first one again")
  func counter() async throws {
    let all = try await frames("pattern:counter,size=96x32,fps=12.5", limit: 25)
    #expect(Set(all.map(\.bytes)).count == 25)
    #expect(all[1].timestamp == .millisecond(80))
    let source = try await SourceLocator("pattern:counter,size=96x32").open()
    _ = try await source.nextFrame()
    try await source.rewind()
    #expect(try await source.nextFrame()?.bytes == all[0].bytes)
  }

  @Test(
    "each test pattern is drawn at any size, down to 1x1", arguments: ["1x1", "2x3", "7x1", "1x9"],
    TestPattern.allCases)
  func smallest(size: String, pattern: TestPattern) async throws {
    #expect(try await frames("pattern:\(pattern),size=\(size)", limit: 1).count == 1)
  }

  @Test(
    "an invalid pattern name, setting or size is rejected with the reason",
    arguments: [
      ("nope", "no such pattern; there are smpte, gradient, zoneplate, counter"),
      ("", "no such pattern; there are smpte, gradient, zoneplate, counter"),
      ("smpte,size=12", "size: '12' is not WxH, such as 640x360, with sides from 1 to 65535"),
      ("smpte,size=+1x2", "size: '+1x2' is not WxH, such as 640x360, with sides from 1 to 65535"),
      ("smpte,size=0x5", "size: '0x5' is not WxH, such as 640x360, with sides from 1 to 65535"),
      ("smpte,fps=0", "fps=0 is not within 0.001...1000"),
      ("smpte,fps=nan", "fps=nan is not within 0.001...1000"),
      ("smpte,", "\"\" is not a setting: use size=WxH or fps=N"),
      ("smpte,color=1", "\"color=1\" is not a setting: use size=WxH or fps=N"),
      (
        "smpte,size=65535x65535",
        "65535x65535 is over the limit of 100 megapixels (--max-megapixels raises it)"
      ),
    ])
  func refusals(text: String, reason: String) async throws {
    let error = await sourceError { _ = try await SourceLocator("pattern:\(text)").open() }
    #expect(error == SourceError(.badRequest, path: "pattern:\(text)", reason: reason))
  }
}
