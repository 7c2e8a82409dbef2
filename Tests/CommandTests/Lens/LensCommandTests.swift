// `glpreview lens`: its report, the drawn lens, a fit, and what is refused.
import Foundation
import GLPreview
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
      let worstPoint: Int
      let worstPosition: [Double]
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
      let uncertainty: Double
      let uncertain: [String]
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

  /// Returns points that an equidistant fisheye with a focal length of 150 pixels at 320,240 shows on straight edges,
  /// off by `error` pixels in both directions.
  private static func lines(error: Double = 0) -> [String] {
    let edges: [(start: [Double], end: [Double])] = [
      ([-1, -0.8, 1], [1, -0.8, 1]), ([-1, 0.9, 1], [1, 0.9, 1]), ([-1.2, -1, 1], [-1.2, 1, 1]),
      ([1.1, -1, 0.8], [1.1, 1, 0.8]),
    ]
    // Signs without a pattern that a lens could have.
    let (right, down): ([Double], [Double]) = ([1, -1, -1, 1, 1], [-1, 1, 1, -1, 1, -1, 1])
    var arguments: [String] = []
    for (number, edge) in edges.enumerated() {
      var points: [String] = []
      for step in 0..<8 {
        let ray: [Double] = zip(edge.start, edge.end).map { $0 + ($1 - $0) * Double(step) / 7 }
        let across = hypot(ray[0], ray[1])
        let radius = 150 * atan2(across, ray[2]) / across
        let count = 8 * number + step
        let x = 320 + radius * ray[0] + error * right[count % right.count]
        let y = 240 + radius * ray[1] + error * down[count % down.count]
        points.append(String(format: "%.2f,%.2f", x, y))
      }
      arguments += ["--line", points.joined(separator: " ")]
    }
    return arguments
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
    let before = try await folder.run(start + Self.lines())
    #expect(before.status == 0, "\(before.errors)")
    let measured = try report(before.output)
    #expect(measured.lines.map(\.points) == [8, 8, 8, 8] && measured.fit == nil)
    #expect(measured.lines.allSatisfy { $0.rms > 0.3 && $0.worst >= $0.rms })

    let result = try await folder.run(start + Self.lines() + ["--fit", "radius"])
    #expect(result.status == 0, "\(result.errors)")
    let found = try report(result.output)
    let fit = try #require(found.fit)
    // The image circle of 180 degrees: 150 · π / 2.
    #expect(fit.numbers.map(\.name) == ["radius"] && abs(fit.numbers[0].value - 235.62) < 0.1)
    #expect(fit.after < 0.05 && fit.before > 0.3)
    #expect(fit.uncertain.isEmpty && fit.uncertainty > 0 && fit.uncertainty < 8 && result.errors.isEmpty)
    #expect(found.lens.hasPrefix("fisheye size 640x480 radius 235."), "\(found.lens)")

    let text = try await folder.run(["lens", Self.pattern, "--lens", found.lens] + Self.lines())
    #expect(String(decoding: text.output, as: UTF8.self).contains("8 points, 0"))
  }

  @Test("a fit to rough points gives a lens, and a warning with the parameters that they hardly determine")
  func roughFit() async throws {
    let arguments =
      ["lens", Self.pattern, "--lens", "fisheye radius 215", "--fit", "radius,center"] + Self.lines(error: 3)
    let result = try await folder.run(arguments + ["--json"])
    #expect(result.status == 0)
    let warning = "glpreview: the lines hardly determine radius and center: "
    #expect(result.errors.hasPrefix(warning) && result.errors.hasSuffix("fit less\n"), "\(result.errors)")
    #expect(result.errors.split(separator: "\n").count == 1)
    let fit = try #require(try report(result.output).fit)
    #expect(fit.uncertain == ["radius", "center"] && fit.uncertainty > 8, "\(fit.uncertainty)")

    let text = try await folder.run(arguments)
    #expect(text.status == 0 && text.errors == result.errors)
    let row = String(decoding: text.output, as: UTF8.self).split(separator: "\n").first {
      $0.hasPrefix("uncertainty  ")
    }
    #expect(row?.hasSuffix(" pixels rms over the picture") == true, "\(row ?? "no row")")
  }

  @Test("the report names the worst point of each line")
  func worstPoint() async throws {
    var arguments = ["lens", Self.pattern, "--lens", "fisheye radius 235.62"] + Self.lines()
    // The fourth point of the second line.
    var points = arguments[7].split(separator: " ").map(String.init)
    let parts = points[3].split(separator: ",").compactMap { Double($0) }
    let (x, y) = (parts[0], parts[1] + 8)
    points[3] = String(format: "%.2f,%.2f", x, y)
    arguments[7] = points.joined(separator: " ")
    let result = try await folder.run(arguments + ["--json"])
    #expect(result.status == 0, "\(result.errors)")
    let line = try report(result.output).lines[1]
    #expect(line.worstPoint == 4 && line.worst > 5 && line.worst < 8, "\(line)")
    #expect(abs(line.worstPosition[0] - x) < 0.01 && abs(line.worstPosition[1] - y) < 0.01, "\(line)")

    let text = String(decoding: try await folder.run(arguments).output, as: UTF8.self)
    #expect(text.contains(" at worst (point 4 at \(points[3]))"), "\(text)")
  }

  @Test("-o draws the curve of each line, from its first point to its last")
  func drawnLine() async throws {
    let line = ["--line", "500,100.5 100,100.5 300,100.5"]
    let result = try await folder.run(
      ["lens", Self.pattern, "--lens", "pinhole", "--gpu", "cpu", "-o", "lines.png"] + line)
    #expect(result.status == 0, "\(result.errors)")
    let picture = try PNGDecoder.decode(folder.bytes(of: "lines.png"), maximumPixels: 1 << 20)
    let depth = picture.bytes.count / (640 * 480)
    try #require(depth == 3 || depth == 4)
    func isMagenta(_ x: Int, _ y: Int) -> Bool {
      let place = depth * (640 * y + x)
      let (red, green, blue) = (picture.bytes[place], picture.bytes[place + 1], picture.bytes[place + 2])
      return red > 200 && green < 60 && blue > 200
    }
    #expect([110, 200, 250, 420, 490].allSatisfy { isMagenta($0, 100) })
    #expect([50, 80].allSatisfy { !isMagenta($0, 100) })
    #expect([97, 104].allSatisfy { !isMagenta(200, $0) })
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
      (
        [Self.pattern, "--lens", "fisheye", "-o", "a.gif"], 64,
        "-o a.gif: the picture's name must end in .jpg or .png"
      ),
      ([Self.pattern, "--lens", "fisheye", "-o", ""], 64, "not a file name"),
      ([Self.pattern, "--lens", "fisheye", "-o", "null:"], 64, "omit -o"),
      ([Self.pattern, "--lens", "fisheye", "-o", "null:jpg"], 64, "omit -o"),
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
