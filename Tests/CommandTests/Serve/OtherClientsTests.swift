// What is served, read by programs that know nothing of us.
import Foundation
import TestSupport
import Testing

@Suite("Third-party clients", .timeLimit(.minutes(15)))
struct OtherClientsTests {
  private static let pattern = "pattern:counter,size=320x180,fps=20"

  static let curl = OtherProgram("curl")
  static let ffmpeg = OtherProgram("ffmpeg")
  static let gstreamer: OtherProgram? = {
    let inspect = OtherProgram("gst-inspect-1.0")
    let isThere = ["souphttpsrc", "multipartdemux", "jpegdec"].allSatisfy { inspect?.succeeds($0) ?? false }
    return isThere ? OtherProgram("gst-launch-1.0") : nil
  }()

  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func service() async throws -> ServedCommand { try await ServedCommand(Self.pattern, in: folder) }

  @Test(
    "curl gets a complete JPEG, whatever range, HTTP/2 or compression it requests",
    .enabled(if: curl != nil, "needs curl"))
  func curlSnapshot() async throws {
    let (curl, service) = (try #require(Self.curl), try await service())

    for options in [[], ["--range", "0-9"], ["--http2"], ["--compressed"], ["--tr-encoding"]] {
      let result = try await curl.run(
        options + ["-sS", "-w", "%{stderr}%{http_code} %{content_type}"] + [
          service.url("/snapshot?timeout=60000")
        ],
        in: folder)
      #expect(result.status == 0 && result.errors == "200 image/jpeg", "\(options): \(result.errors)")
      #expect(result.output.starts(with: [0xFF, 0xD8]) && result.output.suffix(2) == [0xFF, 0xD9])
    }

    let head = try await curl.run(["-sSI", service.url("/stream")], in: folder)
    #expect(head.status == 0)
    #expect(String(decoding: head.output, as: UTF8.self).hasPrefix("HTTP/1.1 200 OK\r\n"))
  }

  @Test(
    "curl reads an MJPEG stream until its reader closes the pipe", .enabled(if: curl != nil, "needs curl"))
  func curlStream() async throws {
    let (curl, service) = (try #require(Self.curl), try await service())
    let shell = try #require(OtherProgram("sh"))
    let result = try await shell.run(
      ["-c", "'\(curl.path)' -sN \(service.url("/stream")) | head -c 200000"], in: folder)
    let text = String(decoding: result.output, as: UTF8.self)
    #expect(result.output.count == 200_000)
    #expect(
      text.split(separator: "--boundarydonotcross\r\nContent-Type: image/jpeg\r\nContent-Length: ").count > 3)
  }

  @Test(
    "curl changes a view with `Expect: 100-continue`",
    .enabled(if: curl != nil, "needs curl"))
  func curlContinue() async throws {
    let (curl, service) = (try #require(Self.curl), try await service())

    let result = try await curl.run(
      [
        "-sS", "--expect100-timeout", "3600", "-H", "Expect: 100-continue", "-X", "PATCH", "-H",
        "Content-Type: application/json", "-d", #"{"rotate": 90}"#,
        service.url("/api/cameras/camera/views/main"),
      ], in: folder)

    #expect(result.status == 0, "\(result.errors)")
    #expect(String(decoding: result.output, as: UTF8.self).contains(#""rotate":90"#))
  }

  @Test(
    "ffmpeg reads 20 frames of an MJPEG stream, with and without `-f mpjpeg`",
    .enabled(if: ffmpeg != nil, "needs ffmpeg"),
    arguments: [["-f", "mpjpeg"], []])
  func ffmpegStream(format: [String]) async throws {
    let (ffmpeg, service) = (try #require(Self.ffmpeg), try await service())

    let result = try await ffmpeg.run(
      ["-nostdin", "-loglevel", "error"] + format
        + [
          "-i", service.url("/stream"), "-frames:v", "20", "-fps_mode", "passthrough", "-f", "framemd5", "-",
        ], in: folder)

    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.isEmpty, "\(result.errors)")
    let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
    #expect(lines.contains("#dimensions 0: 320x180"))
    let sums = lines.filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: " ").last }
    #expect(sums.count == 20)
    // The counter moves: the pictures are not one and the same.
    #expect(Set(sums).count > 10)
  }

  @Test(
    "an RTMP stream from ffmpeg is passed through as MP4, which ffmpeg reads",
    .enabled(if: ffmpeg != nil, "needs ffmpeg"))
  func rtmp() async throws {
    let ffmpeg = try #require(Self.ffmpeg)
    let port = try ReservedPort()
    defer { withExtendedLifetime(port) {} }
    let url = "rtmp://127.0.0.1:\(port.number)/live/x"
    let words =
      "-nostdin -loglevel error -re -f lavfi -i testsrc2=size=320x180:rate=25 -pix_fmt yuv420p -c:v libx264 -tune zerolatency "
      + "-profile:v main -bf 0 -g 10 -f flv -listen 1 \(url)"
    let camera = try ChildProcess(
      ffmpeg.path, words.split(separator: " ").map(String.init),
      environment: ProcessInfo.processInfo.environment, in: folder.url.path, writingTo: nil)
    defer { camera.end() }
    // It serves one connection, and ends with that.
    try Data("cameras: {camera: {source: '\(url)', keep-warm: true, timeout: 1h, stalls-after: 1h}}\n".utf8)
      .write(to: folder.url.appending(path: "rtmp.yaml"))
    let service = try await ServedCommand("--config", "rtmp.yaml", in: folder)
    func get(_ path: String) async throws -> String {
      let socket = try LoopbackSocket(port: service.port)
      let answer = await socket.answer(
        to: "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      return String(decoding: answer, as: UTF8.self)
    }
    try await until { try await get("/api/cameras").contains(#""state":"live""#) }

    let result = try await ffmpeg.run(
      [
        "-nostdin", "-loglevel", "error", "-i", service.url("/cameras/camera/main.mp4"), "-frames:v", "20",
        "-f", "framemd5", "-",
      ], in: folder)

    #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
    #expect(lines.contains("#dimensions 0: 320x180"))
    #expect(lines.count { !$0.hasPrefix("#") } == 20)
    let metrics = try await get("/metrics").split(separator: "\n")
    func count(_ name: String) -> Int? {
      metrics.first { $0.hasPrefix("\(name) ") }?.split(separator: " ").last.flatMap { Int($0) }
    }
    #expect(count("glpreview_video_failures_total") == 0)
    let passed = try #require(count("glpreview_video_passed_total"))
    #expect(passed >= 20 && count("glpreview_video_pictures_total") == passed)
  }

  @Test(
    "OpenCV's VideoCapture reads 20 frames of an MJPEG stream",
    .enabled(if: OtherProgram.pythonWithOpenCV != nil, "needs python3-opencv, or PEER_PYTHON that has it"))
  func openCV() async throws {
    let (python, service) = (try #require(OtherProgram.pythonWithOpenCV), try await service())
    let script = """
      import cv2, sys
      capture = cv2.VideoCapture(sys.argv[1])
      for _ in range(20):
          ok, picture = capture.read()
          print(ok, None if picture is None else picture.shape)
      """

    for path in ["/stream", "/cameras/camera/main.mjpeg?fps=10"] {
      let result = try await python.run(["-c", script, service.url(path)], in: folder)
      #expect(result.status == 0, "\(result.errors)")
      let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
      #expect(lines == Array(repeating: "True (180, 320, 3)", count: 20), "\(lines) \(result.errors)")
    }
  }

  @Test(
    "GStreamer reads 20 frames of an MJPEG stream",
    .enabled(if: gstreamer != nil, "needs gst-launch-1.0 with souphttpsrc, multipartdemux and jpegdec"))
  func gstreamerStream() async throws {
    let (gstreamer, service) = (try #require(Self.gstreamer), try await service())
    let words =
      "souphttpsrc location=\(service.url("/stream")) ! multipartdemux ! jpegdec ! video/x-raw,width=320,height=180 "

    let result = try await gstreamer.run(
      ["-q"]
        + (words + "! identity eos-after=21 ! filesink location=pictures.raw").split(separator: " ").map(
          String.init),
      in: folder)

    #expect(result.status == 0, "\(result.errors)")
    let bytes = try folder.bytes(of: "pictures.raw").count
    #expect(bytes == 20 * 320 * 180 * 3 / 2)
  }
}
