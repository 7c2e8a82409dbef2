// Videos: that pictures come out in their own colours whatever their kind, lie as they should, are counted and timed, and
// that what is cut, broken or lying is refused in one line. Fixtures/make_videos makes the files.
#if FFmpeg
  import Foundation
  import PreviewCore
  import TestSupport
  import Testing

  @testable import CaptureFFmpeg
  @testable import GLPreview

  /// A video of Fixtures/videos.
  private func video(_ name: String) throws -> [UInt8] { try fixture("videos/\(name)") }

  /// The eight bars in the upper two thirds of every picture.
  private let bars = [
    [200, 30, 40], [20, 160, 60], [40, 50, 190], [128, 128, 128], [230, 230, 230], [16, 16, 16],
    [200, 200, 40],
    [40, 190, 190],
  ]

  /// A pixel as R'G'B', by the frame's own matrix and range (H.273, 8.3).
  private func color(_ frame: Frame, _ x: Int, _ y: Int) -> [Int] {
    func code(_ component: Component) -> Double {
      let description = frame.format.pixelFormat.planes[component.plane]
      let texel = x / component.subsampling.x * component.texelStep + component.texelOffset
      let plane = frame.planes[component.plane]
      let index =
        plane.offset + y / component.subsampling.y * plane.bytesPerRow + texel * description.texel.byteCount
        + component.channel
      return Double(frame.bytes[index])
    }
    let (matrix, isFull) = (frame.format.color.matrix, frame.format.color.range == .full)
    func luma(_ component: Component) -> Double {
      isFull ? code(component) : (code(component) - 16) * 255 / 219
    }
    func chroma(_ component: Component) -> Double {
      (code(component) - 128) * (isFull ? 1 : 255.0 / 224)
    }
    let (red, blue) = (matrix.redWeight, matrix.blueWeight)
    let values: [Double] =
      switch frame.format.pixelFormat.model {
      case .luma(let y): [luma(y), luma(y), luma(y)]
      case .rgb(let r, let g, let b, _): [code(r), code(g), code(b)]
      case .ycbcr(let yComponent, let cb, let cr):
        {
          let (y, b, r) = (
            luma(yComponent), 2 * (1 - blue) * chroma(cb), 2 * (1 - red) * chroma(cr)
          )
          return [y + r, y - (red * r + blue * b) / (1 - red - blue), y + b]
        }()
      }
    return values.map { Int(min(max($0, 0), 255).rounded()) }
  }

  /// What went wrong while all frames of `bytes` were read, and how many came before.
  private func failure(
    _ bytes: [UInt8], named name: String = "video", _ options: SourceOptions = SourceOptions()
  )
    async throws -> (frames: Int, error: SourceError?)
  {
    try await withFile(bytes, named: name) { path in
      var count = 0
      do {
        let source = try await SourceLocator(path).open(options)
        while try await source.nextFrame() != nil { count += 1 }
        return (count, nil)
      } catch { return (count, try #require(error as? SourceError)) }
    }
  }

  private enum Libraries {
    static let areInstalled: Bool = {
      do throws(VideoFailure) {
        _ = try VideoReader(file: "/", maximumPixels: 1)
      } catch { return error.kind != .noLibraries }
      return true
    }()
  }

  @Suite("Video files", .enabled(if: Libraries.areInstalled, "FFmpeg's libraries are not installed"))
  struct VideoFileTests {
    struct Sample: CustomTestStringConvertible {
      let name: String
      let format: PixelFormat
      let matrix: ColorDescription.Matrix
      let range: ColorDescription.QuantizationRange
      var siting = ColorDescription.ChromaSiting.left
      var frames = 4
      var testDescription: String { name }
    }

    static let samples = [
      Sample(name: "601.mp4", format: .i420, matrix: .bt601, range: .limited),
      Sample(name: "709.mp4", format: .i420, matrix: .bt709, range: .limited),
      Sample(name: "709-full.mkv", format: .i420, matrix: .bt709, range: .full),
      Sample(name: "422.mkv", format: .yuv422p, matrix: .bt709, range: .limited),
      Sample(name: "444.mkv", format: .yuv444p, matrix: .bt601, range: .limited),
      Sample(name: "10bit.mkv", format: .i420, matrix: .bt709, range: .limited),
      Sample(name: "10bit-full.mkv", format: .yuv422p, matrix: .bt709, range: .full),
      Sample(name: "hevc-12bit.mkv", format: .i420, matrix: .bt2020, range: .limited),
      Sample(name: "vp9.webm", format: .i420, matrix: .bt709, range: .limited),
      Sample(name: "mjpeg.avi", format: .i420, matrix: .bt601, range: .full, siting: .centred),
      Sample(name: "nv12.mkv", format: .nv12, matrix: .bt709, range: .limited, frames: 1),
      Sample(name: "uyvy.avi", format: .uyvy, matrix: .bt601, range: .limited, frames: 1),
      Sample(name: "rgb.avi", format: .bgr24, matrix: .bt601, range: .limited, frames: 1),
      Sample(name: "stream.ts", format: .i420, matrix: .bt601, range: .limited),
      Sample(name: "reordered.mp4", format: .i420, matrix: .bt601, range: .limited),
      Sample(name: "plain.h264", format: .i420, matrix: .bt601, range: .limited),
    ]

    /// Whose samples are read component by component.
    static let others = [
      Sample(name: "gbrp.mkv", format: .rgb24, matrix: .bt601, range: .full, frames: 1),
      Sample(name: "gbrp10.mkv", format: .rgb24, matrix: .bt601, range: .limited, frames: 1),
      Sample(name: "gbrp16.mkv", format: .rgb24, matrix: .bt601, range: .limited, frames: 1),
      Sample(name: "rgb555.avi", format: .rgb24, matrix: .bt601, range: .limited, frames: 1),
      Sample(name: "pal8.avi", format: .rgb24, matrix: .bt601, range: .limited, frames: 1),
      Sample(name: "argb.nut", format: .rgba, matrix: .bt601, range: .limited, frames: 1),
      Sample(name: "10bit-be.nut", format: .yuv422p, matrix: .bt601, range: .limited, frames: 1),
      Sample(name: "prores4444.mov", format: .yuv444p, matrix: .bt601, range: .limited, frames: 1),
    ]

    @Test(
      "a video of each format gives all frames in order, with the right colours and timestamps",
      arguments: samples + others)
    func colors(sample: Sample) async throws {
      let all = try await withFile(video(sample.name), named: "any.name") { try await frames($0) }

      #expect(all.count == sample.frames)
      let description = ColorDescription(matrix: sample.matrix, range: sample.range, siting: sample.siting)
      for (index, frame) in all.enumerated() {
        #expect(
          frame.format == Frame.Format(sample.format, Size(width: 64, height: 48), color: description))
        #expect(frame.sequence == index)
        #expect(frame.timestamp == .millisecond(40 * index))
        for (bar, expected) in bars.enumerated() {
          let found = color(frame, 8 * bar + 4, 15)
          #expect(isNear(found, expected, within: 4), "bar \(bar) of picture \(index): \(found)")
        }
        let grey = 200 - 40 * index
        #expect(isNear(color(frame, 30, 44), [grey, grey, grey], within: 3), "picture \(index)")
      }
    }

    @Test(
      "a greyscale video gives grey frames of full range with the original codes",
      arguments: ["gray.mkv", "grey10.mkv"])
    func grey(name: String) async throws {
      let all = try await withFile(video(name)) { try await frames($0) }
      #expect(all.map(\.format.pixelFormat) == Array(repeating: .grey, count: 4))
      for (index, frame) in all.enumerated() {
        #expect(frame.format.color.range == .full)
        let code = 200 - 40 * index
        #expect(isNear(color(frame, 30, 44), [code, code, code], within: 1))
      }
    }

    @Test(
      "a frame has the orientation of its video's display matrix",
      arguments: [
        ("601.mp4", Orientation.upright), ("turned.mp4", Orientation(.clockwise90)),
        ("upside-down.mp4", Orientation(.half)),
      ])
    func orientation(name: String, orientation: Orientation) async throws {
      let all = try await withFile(video(name)) { try await frames($0, limit: 1) }
      #expect(all.first?.format.orientation == orientation)
    }

    @Test(
      "a rewound video plays again from its first frame",
      arguments: ["reordered.mp4", "stream.ts", "plain.h264", "rgb.avi"])
    func rewinding(name: String) async throws {
      try await withFile(video(name)) { path in
        let source = try await SourceLocator(path).open()
        var rounds: [[[UInt8]]] = []

        for round in 0..<3 {
          var pictures: [[UInt8]] = []
          while pictures.count < (round == 1 ? 1 : 9), let frame = try await source.nextFrame() {
            #expect(frame.sequence == pictures.count)
            pictures.append(frame.bytes)
          }
          rounds.append(pictures)
          try await source.rewind()
        }

        #expect(rounds[0] == rounds[2])
        #expect(rounds[0].first == rounds[1].first)
        #expect(Set(rounds[0]).count == rounds[0].count)
      }
    }

    @Test("the user's matrix and range override those of a video")
    func colorOverride() async throws {
      let options = SourceOptions(color: ColorDescription.Override(matrix: .bt2020, range: .full))
      let all = try await withFile(video("709.mp4")) { try await frames($0, options, limit: 1) }
      #expect(all.first?.format.color == ColorDescription(matrix: .bt2020, range: .full, siting: .left))
    }

    @Test("a video above the pixel limit throws before its first frame, and one at the limit plays")
    func limit() async throws {
      for name in ["601.mp4", "10bit.mkv", "rgb.avi", "stream.ts", "plain.h264"] {
        let (count, error) = try await failure(video(name), SourceOptions(maximumPixels: 64 * 48 - 1))
        #expect(count == 0)
        #expect(error?.kind == .badData)
        #expect(error?.reason.isEmpty == false)
        #expect(try await failure(video(name), SourceOptions(maximumPixels: 64 * 48)).error == nil)
      }
    }

    @Test("an unsupported pixel format, or a file without a video track, is rejected with the reason")
    func refusals() async throws {
      let (_, error) = try await failure(video("unsupported.mkv"))
      #expect(error?.kind == .badData)
      let reason = error?.reason ?? ""
      #expect(reason.contains("pictures of yuv410p are not supported"), "\(reason)")
      let (_, silent) = try await failure(video("sound.mp4"))
      #expect(silent?.reason == "has no video")
    }

    @Test(
      "a truncated video gives only intact frames, and any error is `.badData`",
      arguments: samples)
    func cuts(sample: Sample) async throws {
      let whole = try video(sample.name)
      let all = try await withFile(whole) { try await frames($0) }.map(\.bytes)

      for length in stride(from: 1, to: whole.count, by: max(whole.count / 40, 1)) {
        try await withFile(Array(whole.prefix(length))) { path in
          var given: [[UInt8]] = []
          do {
            let source = try await SourceLocator(path).open()
            while let frame = try await source.nextFrame() { given.append(frame.bytes) }
          } catch {
            #expect((error as? SourceError)?.kind == .badData, "\(length) bytes: \(error)")
          }

          // The end of what has no frame around it can't be known.
          let isPlain = sample.name.hasSuffix("h264") || sample.name.hasSuffix("ts")
          // Pictures that are seen earlier may come later.
          var rest = all[...]
          for picture in given.dropLast(isPlain ? 1 : 0) {
            let index = rest.firstIndex(of: picture)
            #expect(index != nil, "\(length) bytes")
            rest = rest[(index.map { $0 + 1 } ?? rest.endIndex)...]
          }
        }
      }
    }

    @Test(
      "a video with random byte changes gives at most 40 frames and no error but `.badData`",
      arguments: ["601.mp4", "stream.ts", "mjpeg.avi", "hevc-12bit.mkv", "vp9.webm"])
    func noise(name: String) async throws {
      let whole = try video(name)
      var noise = SeededGenerator(seed: 7)

      for _ in 0..<20 {
        var bytes = whole
        for _ in 0..<Int.random(in: 1...8, using: &noise) {
          bytes[Int.random(in: 0..<bytes.count, using: &noise)] = .random(in: 0...255, using: &noise)
        }

        let (count, error) = try await failure(bytes, SourceOptions(maximumPixels: 1_000_000))
        #expect(count <= 40)
        if let error { #expect(error.kind == .badData) }
      }
    }

    @Test(
      "playlists, manifests, SDP and subtitles are rejected, whatever their file name",
      arguments: [
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nOTHER\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile 'OTHER'\n",
        "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=video 5004 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n",
        "<?xml version=\"1.0\"?><MPD><BaseURL>OTHER</BaseURL></MPD>", "[playlist]\nFile1=OTHER\n",
        "hello, world\n",
        "http://127.0.0.1:1/OTHER\n", "1\n00:00:00,000 --> 00:00:01,000\nwords\n",
      ])
    func lists(text: String) async throws {
      try await withFile(video("601.mp4"), named: "other.mp4") { other in
        for name in ["list.m3u8", "list.txt", "list.mp4", "concat:x"] {
          let bytes = Array(text.replacing("OTHER", with: other).utf8)
          let (count, error) = try await failure(bytes, named: name)
          #expect(count == 0)
          #expect(error?.kind == .badData)
          #expect(error?.reason.hasPrefix("is not a JPEG, PNG, Y4M or video; raw frames need") == true)
        }
      }
    }

    @Test("a transport stream without the start of a group of pictures gives at least two frames")
    func midst() async throws {
      let whole = try video("stream.ts")
      // Behind the first picture's packets; 188 bytes each.
      let starts = stride(from: 0, to: whole.count, by: 188).filter { whole[$0 + 1] & 0x40 != 0 }
      let second = try #require(starts.dropFirst(3).first)
      let tables = Array(whole[..<(3 * 188)])
      let rest = try await failure(tables + whole[second...])
      #expect(rest.error == nil)
      #expect(rest.frames >= 2)
    }
  }
#endif
