// `glpreview lens`: its report, the drawn lens, a fit, and what is refused.
import Foundation
import Testing

@Suite("The command lens", .timeLimit(.minutes(15)))
struct LensCommandTests {
  private let folder: TestFolder
  private static let pattern = "pattern:smpte,size=640x480"

  init() throws { folder = try TestFolder() }

  private struct Report: Decodable {
    struct Line: Decodable {
      let points: Int
      let rms: Double
      let worst: Double
    }

    struct Fit: Decodable {
      struct Number: Decodable {
        let name: String
        let value: Double
        let error: Double
      }

      let before: Double
      let after: Double
      let numbers: [Number]
    }

    let lens: String
    let width: Int
    let horizontal: Double
    let outside: Double
    let lines: [Line]
    let fit: Fit?
  }

  private func report(_ bytes: [UInt8]) throws -> Report {
    try JSONDecoder().decode(Report.self, from: Data(bytes))
  }

  /// Points that an equidistant fisheye with a focal length of 150 pixels at 320,240 shows on straight edges.
  private static let lines: [String] = [
    ([-1, -0.8, 1], [1, -0.8, 1]), ([-1, 0.9, 1], [1, 0.9, 1]), ([-1.2, -1, 1], [-1.2, 1, 1]),
    ([1.1, -1, 0.8], [1.1, 1, 0.8]),
  ].flatMap { (start: [Double], end: [Double]) in
    let points = (0..<8).map { step in
      let ray: [Double] = zip(start, end).map { $0 + ($1 - $0) * Double(step) / 7 }
      let across = hypot(ray[0], ray[1])
      let radius = 150 * atan2(across, ray[2]) / across
      return String(format: "%.2f,%.2f", 320 + radius * ray[0], 240 + radius * ray[1])
    }
    return ["--line", points.joined(separator: " ")]
  }

  @Test("the report says what the lens shows, and draws nothing without -o")
  func report() async throws {
    let result = try await folder.run("lens", Self.pattern, "--lens", "fisheye fov 190")
    #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    let text = String(decoding: result.output, as: UTF8.self)
    for words in ["fisheye fov 190", "640x480", "190 x 190 degrees", "pixels per degree", "% of the picture"]
    {
      #expect(text.contains(words), "\(text)")
    }
    #expect(try folder.names == [])
  }

  @Test("-o draws the lens over the picture, and leaves the rest as it is")
  func drawing() async throws {
    let plain = try await folder.run("render", "--gpu", "cpu", Self.pattern, "-o", "plain.png")
    #expect(plain.status == 0, "\(plain.errors)")
    let options = ["lens", Self.pattern, "--lens", "fisheye fov 190", "--gpu", "cpu"]
    let drawn = try await folder.run(options + ["-o", "grid.png"])
    #expect(drawn.status == 0, "\(drawn.errors)")
    let size = try await folder.run("render", "--gpu", "cpu", "grid.png", "-o", "null:", "--json")
    #expect(try size.reports.map { [$0.width, $0.height] } == [[640, 480]])
    #expect(try folder.bytes(of: "grid.png") != folder.bytes(of: "plain.png"))

    let stream = try await folder.run(options + ["-o", "-", "--json"])
    #expect(stream.output.starts(with: [0xFF, 0xD8]), "\(stream.errors)")
    #expect(try report(Array(stream.errors.utf8)).width == 640)
  }

  @Test("--fit finds the radius from lines, with the distances before and after")
  func fit() async throws {
    let start = ["lens", Self.pattern, "--json", "--lens", "fisheye radius 215"]
    let before = try await folder.run(start + Self.lines)
    #expect(before.status == 0, "\(before.errors)")
    let measured = try report(before.output)
    #expect(measured.lines.map(\.points) == [8, 8, 8, 8] && measured.fit == nil)
    #expect(measured.lines.allSatisfy { $0.rms > 0.3 && $0.worst >= $0.rms })

    let result = try await folder.run(start + Self.lines + ["--fit", "radius"])
    #expect(result.status == 0, "\(result.errors)")
    let found = try report(result.output)
    let fit = try #require(found.fit)
    // The image circle of 180 degrees: 150 · π / 2.
    #expect(fit.numbers.map(\.name) == ["radius"] && abs(fit.numbers[0].value - 235.62) < 0.1)
    #expect(fit.after < 0.05 && fit.before > 0.3)
    #expect(found.lens.hasPrefix("fisheye size 640x480 radius 235."), "\(found.lens)")

    let text = try await folder.run(["lens", Self.pattern, "--lens", found.lens] + Self.lines)
    #expect(String(decoding: text.output, as: UTF8.self).contains("8 points, 0"))
  }

  @Test(
    "wrong usage exits with 64, and a picture that can't be read with 65 or 66",
    arguments: [
      ([Self.pattern], 64, "--lens is missing"), ([Self.pattern, "--lens", "fish"], 64, "lens"),
      ([Self.pattern, "--lens", "fisheye", "--fit", "radius"], 64, "--line"),
      ([Self.pattern, "--lens", "fisheye", "--line", "1,1 2,2"], 64, "3 to 1000"),
      ([Self.pattern, "--lens", "fisheye", "--line", "1,1 2,2 900,3"], 64, "640x480"),
      ([Self.pattern, "--lens", "pinhole", "--fit", "fov", "--line", "1,1 20,20 90,33"], 64, "focal length"),
      ([Self.pattern, "--lens", "fisheye size 100x100"], 64, "another shape"),
      ([Self.pattern, "--lens", "fisheye", "-o", "a.mp4"], 64, ".jpg or .png"),
      (["http://127.0.0.1:1/a.jpg", "--lens", "fisheye"], 64, "glpreview render"),
      (["missing.jpg", "--lens", "fisheye"], 66, "no such file"),
      (["bad.jpg", "--lens", "fisheye"], 65, "bad.jpg"),
    ])
  func refusals(arguments: [String], status: Int32, word: String) async throws {
    try folder.write(Array("no picture".utf8), to: "bad.jpg")
    expectFailure(try await folder.run(["lens"] + arguments), status, naming: word)
    #expect(try folder.names == ["bad.jpg"])
  }
}
