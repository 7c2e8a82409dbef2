// Whatever is behind a mask, every output is the same to the byte: nothing of it is in there.
import Foundation
import GLPreview
import Testing

@Suite("Masks")
struct MaskTests {
  private let folder: TestFolder
  /// Whole blocks of a JPEG: it does not smear what is hidden over anything else.
  private static let hidden = Rectangle(x: 48, y: 32, width: 48, height: 32)
  private static let size = Size(width: 160, height: 96)
  private static let mask = "48x32+48+32:fill=#C04020"

  init() throws {
    folder = try TestFolder()
  }

  /// What is hidden is one of two pictures.
  private enum Secret: String, CaseIterable {
    case first, second
  }

  private func planes(_ secret: Secret) -> [UInt8] {
    var bytes: [UInt8] = []
    for (index, plane) in Picture.Format.ycbcr(.yuv420).planeSizes(of: Self.size).enumerated() {
      let scale = Self.size.width / plane.width
      for y in 0..<plane.height {
        for x in 0..<plane.width {
          let (right, down) = (x * scale - Self.hidden.x, y * scale - Self.hidden.y)
          let isHidden =
            (0..<Self.hidden.width).contains(right) && (0..<Self.hidden.height).contains(down)
          let code =
            isHidden && secret == .second
            ? 255 - (x * 13 + y * 29 + index * 90) % 256 : (x * 3 + y * 5 + index * 60) % 200 + 20
          bytes.append(UInt8(code))
        }
      }
    }
    return bytes
  }

  private func picture(_ secret: Secret) -> Picture {
    Picture(tight: Self.size, format: .ycbcr(.yuv420), bytes: planes(secret))
  }

  private func jpeg(_ secret: Secret) throws -> [UInt8] {
    try PictureEncoder(.jpeg, quality: 90).encode(picture(secret)).bytes
  }

  /// A file whose name says what it is.
  private func write(_ ending: String, _ secret: Secret) throws {
    let name = "\(secret).\(ending)"
    switch ending {
    case "jpg": try folder.write(jpeg(secret), to: name)
    case "turned.jpg": try folder.write(SourceBytes.tagged(jpeg(secret), orientation: 6), to: name)
    case "mjpeg": try folder.write(jpeg(secret) + jpeg(secret), to: name)
    case "png":
      let rgba = planes(secret).prefix(Self.size.pixelCount).flatMap { (code: UInt8) -> [UInt8] in
        [code, 255 - code, code / 2, 255]
      }
      let picture = Picture(tight: Self.size, format: .rgba, bytes: rgba)
      try folder.write(PictureEncoder(.png).encode(picture).bytes, to: name)
    case "y4m":
      let header = "YUV4MPEG2 W160 H96 F25:1 C420jpeg\nFRAME\n"
      try folder.write(Array(header.utf8) + planes(secret), to: name)
    case "grey": try folder.write(Array(planes(secret).prefix(Self.size.pixelCount)), to: name)
    default: try folder.write(planes(secret), to: name)
    }
  }

  /// All pictures that a run leaves, by name.
  private func outputs(_ secret: Secret, _ source: String, _ options: [String]) async throws -> [String:
    [UInt8]]
  {
    for name in try folder.names where name.hasPrefix("out-") {
      try FileManager.default.removeItem(at: folder[name])
    }
    let result = try await folder.run(["render", source] + options, input: nil)
    #expect(result.status == 0, "\(result.errors)")
    return try Dictionary(
      uniqueKeysWithValues: folder.names.filter { $0.hasPrefix("out-") }
        .map { ($0, try folder.bytes(of: $0)) })
  }

  private static let views = [
    "whole:filter=nearest", "small:size=53x31,filter=lanczos", "tiny:size=20x12",
    "large:size=400x,filter=bilinear",
    "turned:rotate=90,mirror=horizontal,size=41x67,mode=fit", "light:size=77x,linear=true",
    "around:crop=70x50+40+25", "behind:crop=40x30+50+33,size=80x60", "beside:crop=48x96+0+0,size=33x",
  ]

  /// The names of outputs that differ.
  private func differences(_ one: [String: [UInt8]], _ other: [String: [UInt8]]) -> [String] {
    Set(one.keys).union(other.keys).filter { one[$0] != other[$0] }.sorted()
  }

  @Test(
    "the output bytes of every view do not depend on the masked pixels",
    arguments: [
      ("jpg", "png", []), ("jpg", "jpg", ["--decode", "fast"]), ("jpg", "png", ["--renderer", "reference"]),
      ("png", "png", []), ("y4m", "jpg", []), ("mjpeg", "jpg", []),
      ("i420", "png", ["--input-format", "i420", "--input-size", "160x96"]),
      ("grey", "jpg", ["--input-format", "grey", "--input-size", "160x96"]),
    ])
  func same(input: String, output: String, options: [String]) async throws {
    let views = Self.views.flatMap { ["--view", $0] }
    let options = options + views + ["-o", "out-{view}-{frame}.\(output)", "--quiet"]
    var masked: [[String: [UInt8]]] = []
    var open: [[String: [UInt8]]] = []

    for secret in Secret.allCases {
      try write(input, secret)
      masked.append(try await outputs(secret, "\(secret).\(input)", options + ["--mask", Self.mask]))
      open.append(try await outputs(secret, "\(secret).\(input)", options))
    }

    #expect(masked[0].count >= Self.views.count)
    #expect(differences(masked[0], masked[1]).isEmpty)

    // Without the mask they are told apart, but where it is not in view; and there it changes nothing.
    let outside = masked[0].keys.filter { $0.hasPrefix("out-beside") }
    #expect(differences(open[0], open[1]).count == masked[0].count - outside.count)
    for name in outside { #expect((open[0][name] == masked[0][name]) == true, "\(name)") }
  }

  @Test("scaled JPEG decoding does not leak masked pixels into the output", arguments: ["20x", "40x", "80x"])
  func eighths(size: String) async throws {
    var pictures: [[String: [UInt8]]] = []
    for secret in Secret.allCases {
      try write("jpg", secret)
      pictures.append(
        try await outputs(
          secret, "\(secret).jpg",
          ["--size", size, "--decode", "fast", "--mask", Self.mask, "-o", "out-a.png", "--quiet"]))
    }

    #expect(differences(pictures[0], pictures[1]).isEmpty && pictures[0].count == 1)
  }

  @Test("masks apply to the upright picture after EXIF rotation")
  func turned() async throws {
    var pictures: [[String: [UInt8]]] = []
    for secret in Secret.allCases {
      try write("turned.jpg", secret)
      // A quarter clockwise: what is at x, y of 160x96 is at 96 - y, x of 96x160.
      pictures.append(
        try await outputs(
          secret, "\(secret).turned.jpg", ["--mask", "32x48+32+48", "-o", "out-a.png", "--quiet"]))
    }

    #expect(differences(pictures[0], pictures[1]).isEmpty && pictures[0].count == 1)
  }

  @Test("every frame from a pipe is masked", arguments: ["--lossless", "--every=1"])
  func pipe(way: String) async throws {
    var outputs: [[UInt8]] = []
    for secret in Secret.allCases {
      let frames = try jpeg(secret) + jpeg(.first) + jpeg(secret)
      let result = try await folder.run(
        ["render", "-", way, "--frames", "3", "--mask", Self.mask, "-o", "-", "--format", "y4m", "--quiet"],
        input: frames)
      #expect(result.status == 0, "\(result.errors)")
      outputs.append(result.output)
    }

    #expect(outputs[0].count > 3 * Self.size.pixelCount)
    #expect((outputs[0] == outputs[1]) == true)
  }

  @Test("pictures from an exec: command are masked")
  func command() async throws {
    var pictures: [[String: [UInt8]]] = []
    for secret in Secret.allCases {
      try write("jpg", secret)
      let path = folder["\(secret).jpg"].path
      pictures.append(
        try await outputs(
          secret, "exec:cat '\(path)'", ["--mask", Self.mask, "-o", "out-a.png", "--quiet"]))
    }

    #expect(differences(pictures[0], pictures[1]).isEmpty && pictures[0].count == 1)
  }

  @Test("overlapping masks are drawn in the given order")
  func order() async throws {
    let result = try await folder.run(
      "render", "pattern:smpte,size=32x16", "--mask", "32x16+0+0:blur=9", "--mask",
      "0,0 32,0 32,16 0,16:fill=#FFFFFF", "-o", "-", "--format", "rgba", "--quiet")
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.count == 32 * 16 * 4 && result.output.allSatisfy { $0 == 255 })
  }

  @Test(
    "a mask outside the picture or with invalid syntax exits with 64, and nothing is written",
    arguments: [
      ("10x10+160+0", "10x10+160+0"), ("200,0 300,0 200,90", "200,0 300,0 200,90"), ("10x10", "10x10"),
      ("10x10+0+0:smear", "smear"), ("1,1 2,2", "polygon"),
    ])
  func refused(mask: String, word: String) async throws {
    try write("jpg", .first)
    let result = try await folder.run("render", "first.jpg", "--mask", mask, "-o", "out.png")
    expectFailure(result, 64, naming: "mask", word)
    #expect(try folder.names == ["first.jpg"])
    let piped = try await folder.run(
      "render", "-", "--mask", mask, "-o", "out.png", input: try jpeg(.first))
    expectFailure(piped, 64, naming: "mask", word)
  }

  @Test("a stream whose aspect ratio changes under a mask exits with 64 after the earlier pictures")
  func otherShape() async throws {
    let other = try PictureEncoder(.jpeg).encode(
      Picture(
        tight: Size(width: 64, height: 64), format: .ycbcr(.yuv420), bytes: [UInt8](repeating: 9, count: 6144)
      ))

    let result = try await folder.run(
      "render", "-", "--lossless", "--mask", Self.mask, "-o", "out-{frame}.png",
      input: try jpeg(.first) + other.bytes)

    expectFailure(result, 64, naming: "mask", "64x64", "160x96")
    #expect(try folder.names == ["out-0.png"])
  }
}
