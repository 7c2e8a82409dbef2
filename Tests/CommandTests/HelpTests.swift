import Testing

@Suite("Help")
struct HelpTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  /// Help is wrapped at the terminal's width: words on one line.
  private func help(_ arguments: String...) async throws -> String {
    let result = try await folder.run(arguments + ["--help"])
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    return String(decoding: result.output, as: UTF8.self).split(whereSeparator: \.isWhitespace).joined(
      separator: " ")
  }

  @Test("`glpreview --help` names the subcommands and the exit statuses")
  func command() async throws {
    let text = try await help()
    for word in ["render", "serve", "devices", "verify", "bench", "work", "submit", "sign", "lens"] {
      #expect(text.contains(word))
    }
    for status in ["0 done", "64 ", "65 ", "66 ", "69 ", "74 ", "130 "] {
      #expect(text.contains(status), "\(status)")
    }
  }

  @Test("`render --help` names its options and their accepted values")
  func render() async throws {
    let text = try await help("render")

    let options = [
      "--output", "--view", "--crop", "--lens", "--projection", "--yaw", "--pitch", "--roll", "--hfov",
      "--corners",
      "--rotate", "--mirror", "--size", "--width", "--height", "--mode",
      "--background",
      "--filter", "--linear", "--input-format", "--input-size", "--matrix", "--range", "--decode",
      "--max-megapixels", "--mask", "--reference",
      "--quality",
      "--subsampling", "--max-bytes", "--exif", "--format", "--gpu", "--frames", "--every", "--loop",
      "--renderer",
      "--json",
      "--quiet", "--scene", "--tile", "--labels", "--speaking", "--off", "--avatar", "--from-file",
      "--label", "--time", "--encoder", "--bitrate", "--fps", "--jpeg",
      "--lossless", "--warmup", "--interval", "--duration", "--timeout", "--reconnect", "--header",
      "--redirects", "--certificate", "--control",
    ]
    // Whole words: `--timeout` does not stand for `--time`.
    let known = Set(text.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.map(String.init))
    for option in options { #expect(known.contains(option), "\(option)") }

    let words = [
      "WxH+X+Y", "fill", "fit", "stretch", "inside", "nearest", "bilinear", "area", "bicubic", "mitchell",
      "lanczos", "bt601",
      "bt709",
      "bt2020", "limited", "full", "llvmpipe", "{name}", "{index}", "{view}", "{frame}", "{frame:05}",
      "null:jpg", "null:png",
      "smpte",
      "gradient", "zoneplate", "counter", "horizontal", "vertical", "exact", "fast", "frameGPUMilliseconds",
    ]
    for word in words { #expect(text.contains(word), "\(word)") }
  }

  @Test("`render --help` names every raw format that --input-format accepts")
  func rawFormats() async throws {
    let errors = try await folder.run("render", "pattern:smpte", "--input-format", "?").errors
    let names = errors.trimmingSuffix("\n").split(separator: "not one of ").last?.split(separator: ", ") ?? []
    #expect(names.count >= 14)
    let words = try await help("render").split { !$0.isLetter && !$0.isNumber }
    for name in names { #expect(words.contains(name), "\(name)") }
  }

  @Test("`work --help` and `submit --help` name their options, including those of `render`")
  func jobs() async throws {
    let nats = [
      "--nats", "--token-file", "--user", "--password-file", "--nkey-file", "--ca-file", "--prefix",
    ]
    let work = try await help("work")
    for option in nats + ["--folder", "--sources", "--get-from", "--put-to", "--concurrency"] {
      #expect(work.contains(option), "\(option)")
    }
    let submit = try await help("submit")
    for option in nats + [
      "--list", "--to", "--batch", "--detach", "--attempts", "--size", "--quality", "--mask",
    ] {
      #expect(submit.contains(option), "\(option)")
    }
  }

  @Test(
    "defaults in help texts are values that can be typed, not Swift descriptions",
    arguments: ["render", "bench", "devices", "verify", "serve", "work", "submit", "sign", "lens"])
  func defaults(subcommand: String) async throws {
    let text = try await help(subcommand)
    // A Swift value's description has parentheses, dots or quotes.
    for match in text.matches(of: /default: ([^)]*)/) {
      #expect(match.1.firstMatch(of: /[a-z]\(|^\.|"|Optional|\[/) == nil, "\(match.1)")
    }
    if subcommand == "render" {
      #expect(text.contains("before the first picture. (default: 0)"))
      #expect(text.contains("million pixels. (default: 250.0)"))
    }
  }

  @Test("the help of `devices` and `verify` names their exit statuses")
  func others() async throws {
    #expect(try await help("devices").contains("69"))
    let text = try await help("verify")
    for status in ["0", "1", "69"] { #expect(text.contains(status)) }
  }

  @Test("`--version` prints a version with three numbers")
  func version() async throws {
    let result = try await folder.run("--version")
    #expect(result.status == 0)
    let version = String(decoding: result.output, as: UTF8.self)
    #expect(version.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> Substring {
    hasSuffix(suffix) ? dropLast(suffix.count) : self[...]
  }
}
