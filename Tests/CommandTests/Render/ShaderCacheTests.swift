// What is kept from run to run, and that no state of it changes a picture.
import Foundation
import TestSupport
import Testing

@Suite("Shader cache", .timeLimit(.minutes(15)))
struct ShaderCacheTests {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
    try folder.makeFolder("cache")
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder["cache"].path)
  }

  private func render(_ variables: [String: String]) async throws -> [UInt8] {
    let result = try await folder.run(
      ["render", "source.jpg", "--gpu", "llvmpipe", "--size", "64x", "-o", "-"], environment: variables)
    #expect(result.status == 0)
    #expect(result.errors.isEmpty, "\(result.errors)")
    return result.output
  }

  private func makeSource() async throws {
    let made = try await folder.render("pattern:smpte,size=192x108", "-o", "source.jpg")
    #expect(made.status == 0)
  }

  /// The files of programs below a folder, without those that are being written: their names have a `-`.
  private func programs(in cache: String) -> [URL] {
    let folder = folder[cache].appending(path: "glpreview")
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { !$0.contains("-") }.map { folder.appending(path: $0) }
  }

  @Test("a picture is identical with an empty, filled, damaged or disabled shader cache")
  func samePicture() async throws {
    try await makeSource()
    let variables = ["XDG_CACHE_HOME": folder["cache"].path]
    let first = try await render(variables)

    // None where the driver gives no binaries; where it does, those that a view of a JPEG takes, and on hardware the
    // one that the device was tried with.
    let programs = programs(in: "cache")
    #expect([0, 2, 3].contains(programs.count))
    #expect(try await render(variables) == first)

    for damage in [{ _ in Data() }, { $0.prefix(60) }, { Data($0.reversed()) }] as [(Data) -> Data] {
      for program in programs { try damage(Data(contentsOf: program)).write(to: program) }
      #expect(try await render(variables) == first)
      // The damage was noticed, and whole programs replace it.
      for program in programs {
        let bytes = try Data(contentsOf: program)
        #expect(bytes.count > 60 && bytes.starts(with: "GLPVPROG".utf8), "\(program.lastPathComponent)")
      }
    }

    #expect(try await render(["GLPREVIEW_SHADER_CACHE": "off"]) == first)
  }

  @Test("two concurrent runs with an empty shader cache give the same picture")
  func twoAtOnce() async throws {
    try await makeSource()
    let variables = ["XDG_CACHE_HOME": folder["cache"].path]
    async let one = render(variables)
    async let other = render(variables)
    #expect(try await one == other)
    #expect(try await render(variables) == one)
  }

  @Test("a disabled or unusable shader cache prints nothing and does not change the picture")
  func nowhere() async throws {
    try await makeSource()
    let cache = folder["cache"].path
    let first = try await render(["XDG_CACHE_HOME": cache, "GLPREVIEW_SHADER_CACHE": "off"])
    #expect(!FileManager.default.fileExists(atPath: cache + "/glpreview"))

    let nowhere = ["XDG_CACHE_HOME": "", "CACHE_DIRECTORY": "", "HOME": ""]
    #expect(try await render(nowhere) == first)

    // A link to a folder that is not there, and a file where the folder should be.
    try folder.link("cache/glpreview", to: "/nonexistent")
    #expect(try await render(["XDG_CACHE_HOME": cache]) == first)

    try FileManager.default.removeItem(atPath: cache + "/glpreview")
    try folder.write([1], to: "cache/glpreview")
    #expect(try await render(["XDG_CACHE_HOME": cache]) == first)
    #expect(try folder.bytes(of: "cache/glpreview") == [1])
  }

  @Test("without a home folder, Mesa's shader cache is stored in systemd's CACHE_DIRECTORY")
  func service() async throws {
    try await makeSource()
    let cache = folder["cache"].path
    let variables = ["XDG_CACHE_HOME": "", "HOME": "/", "CACHE_DIRECTORY": "\(cache):/nonexistent"]

    let first = try await render(variables)
    let device = try await folder.run("devices", "--json")
    let isMesa = String(decoding: device.output, as: UTF8.self).contains("\"vendor\":\"Mesa")
    let kept = try FileManager.default.contentsOfDirectory(atPath: cache)

    #expect(kept.contains { $0.hasPrefix("mesa_shader_cache") } == isMesa)
    #expect(try await render(variables) == first)
  }

  @Test("a running service compiles the shaders for all filters before they are requested")
  func primed() async throws {
    let service = try await ServedCommand(
      "pattern:smpte,size=192x108", "--gpu", "llvmpipe", in: folder,
      preparing: "export XDG_CACHE_HOME=\"$PWD/cache\"")
    // The stand-in for a camera that a busy machine delays needs programs of its own.
    let live = "offline=error&timeout=60000"
    func get(_ words: String) async throws {
      let answer = try await LoopbackSocket(port: service.port).answer(
        to:
          "GET /cameras/camera/main.jpg?\(words)&\(live) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
      )
      #expect(answer.starts(with: Array("HTTP/1.1 200".utf8)))
    }
    try await get("size=64x")
    let note = Data("primed".utf8)
    await until { programs(in: "cache").contains { (try? Data(contentsOf: $0)) == note } }

    let compiled = Set(programs(in: "cache"))
    for filter in ["auto", "area", "nearest", "bilinear", "bicubic", "mitchell", "lanczos"] {
      for words in ["size=57x31", "size=300x"] { try await get("filter=\(filter)&\(words)") }
    }
    // One filter of sums, and one of single samples.
    for filter in ["auto", "nearest"] {
      for words in ["size=40x80&mode=fit", "size=33x&rotate=90", "size=11x&linear=true"] {
        try await get("filter=\(filter)&\(words)")
      }
    }
    #expect(Set(programs(in: "cache")) == compiled)
  }

  @Test("help, usage errors and missing sources do not load a GPU driver")
  func help() async throws {
    #expect(try await loadsDriver("devices"))
    #expect(try await !loadsDriver("--help"))
    #expect(try await !loadsDriver("help", "render"))
    #expect(try await !loadsDriver("--version"))
    #expect(try await !loadsDriver("render", "source.jpg", "--size", "x"))
    #expect(try await !loadsDriver("render", "missing.jpg"))
  }

  @Test("drawing on the CPU loads no GPU driver")
  func cpu() async throws {
    try await makeSource()
    for choice in ["cpu", "software"] {
      #expect(try await !loadsDriver("render", "source.jpg", "--gpu", choice, "-o", "null:"))
    }
    #expect(try await loadsDriver("render", "source.jpg", "--gpu", "llvmpipe", "-o", "null:"))
  }

  /// The dynamic linker of glibc tells on standard error what it loads: here, the vendors' libraries behind libglvnd's,
  /// and Mesa's drivers.
  private func loadsDriver(_ arguments: String...) async throws -> Bool {
    let result = try await folder.run(arguments, environment: ["LD_DEBUG": "files"])
    #expect(result.errors.contains("libEGL.so"))
    return ["libEGL_", "_dri.so", "libgallium", "libLLVM"].contains { result.errors.contains($0) }
  }
}
