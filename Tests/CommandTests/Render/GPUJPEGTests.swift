// `--jpeg`: what codes JPEGs. OpenGL in software stands for a GPU.
import Foundation
import TestSupport
import Testing

@Suite("JPEGs by the GPU", .timeLimit(.minutes(15)))
struct GPUJPEGTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test("the files of the GPU are those of the CPU, also of several views, and within a budget they fit")
  func render() async throws {
    let views = ["--view", "a:size=320x180", "--view", "b:rotate=90,size=77x", "--quality", "71"]
    for processor in ["cpu", "gpu", "auto"] {
      let result = try await folder.run(
        ["render", "pattern:smpte,size=640x360", "--gpu", "llvmpipe", "--jpeg", processor] + views
          + ["-o", "\(processor)-{view}.jpg"])
      #expect(result.status == 0, "\(result.errors)")
    }
    for view in ["a", "b"] {
      let files = try ["cpu", "gpu", "auto"].map { try Data(contentsOf: folder["\($0)-\(view).jpg"]) }
      #expect(files[0] == files[1] && files[0] == files[2])
    }
    let small = try await folder.run(
      "render", "pattern:smpte,size=640x360", "--gpu", "llvmpipe", "--jpeg", "gpu", "--max-bytes", "6000",
      "-o", "s.jpg")
    #expect(small.status == 0, "\(small.errors)")
    #expect(try Data(contentsOf: folder["s.jpg"]).count <= 6000)
  }

  @Test("another processor is a usage error")
  func usage() async throws {
    let result = try await folder.run("render", "pattern:smpte", "--jpeg", "tpu", "-o", "null:")
    #expect(result.status == 64)
    #expect(result.errors.contains("auto, cpu, gpu") || result.errors.contains("auto|cpu|gpu"))
  }

  @Test("a service's streams and snapshots are coded by the GPU, which it says")
  func serve() async throws {
    let service = try await ServedCommand(
      "pattern:smpte,size=320x180", "--gpu", "llvmpipe", "--jpeg", "gpu", in: folder)
    func get(_ path: String) async throws -> [UInt8] {
      try await LoopbackSocket(port: service.port).answer(
        to: "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    }
    let live = "offline=error&timeout=60000"
    for words in ["jpg?quality=70", "jpg?size=100x", "jpg?max_bytes=4000", "png?size=64x"] {
      let answer = try await get("/cameras/camera/main.\(words)&\(live)")
      #expect(answer.starts(with: Array("HTTP/1.1 200".utf8)), "\(words)")
    }
    let cameras = String(decoding: try await get("/api/cameras"), as: UTF8.self)
    #expect(cameras.contains("\"jpeg\":\"gpu\"") || cameras.contains("\"jpeg\" : \"gpu\""))
    let metrics = String(decoding: try await get("/metrics"), as: UTF8.self)
    let count = metrics.split(separator: "\n").first { $0.hasPrefix("glpreview_gpu_jpegs_total ") }
    #expect(try #require(count).split(separator: " ").last.flatMap { Double($0) } ?? 0 > 0)
  }
}
