// A web application of your own that shows a camera: a page with a live view, and snapshots. The first client
// opens the camera, and it closes a second after the last one has left. Each picture is drawn once for all clients.
import GLPreview
import Hummingbird
import ServiceLifecycle

// Any camera: `HummingbirdApp /dev/video0`.
let camera = CommandLine.arguments.dropFirst().first ?? "pattern:counter,size=1280x720,fps=30"
let port = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 8081

let session = try PreviewSession(SessionSource(camera, name: "door"))
let porch = try session.addPreview(ViewConfiguration(name: "porch", width: 640, height: 360))

let router = Router()

router.get("/") { _, _ in
  let page = "<!doctype html><title>Porch</title><h1>Porch</h1><img src=\"porch.mjpeg\">"
  return Response(
    status: .ok, headers: [.contentType: "text/html"],
    body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
}

router.get("/porch.jpg") { _, _ in
  let snapshot = try await session.snapshot(SnapshotRequest(.newest(maxAge: .seconds(1)), fallback: .error))
  guard let picture = snapshot["porch"] else { throw HTTPError(.notFound) }
  let jpeg = try await picture.jpeg(quality: 90)
  return Response(
    status: .ok, headers: [.contentType: "image/jpeg", .cacheControl: "no-store"],
    body: ResponseBody(byteBuffer: ByteBuffer(bytes: jpeg.bytes)))
}

router.get("/porch.mjpeg") { _, _ in
  let body = ResponseBody { writer in
    // A client that reads slowly gets fewer pictures: each one is the newest at that time.
    for try await picture in porch.pictures(for: .jpeg).cancelOnGracefulShutdown() {
      let jpeg = try await picture.jpeg()
      var part = ByteBuffer(
        string: "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: \(jpeg.bytes.count)\r\n\r\n")
      part.writeBytes(jpeg.bytes)
      part.writeString("\r\n")
      try await writer.write(part)
    }
    try await writer.finish(nil)
  }
  return Response(
    status: .ok,
    headers: [.contentType: "multipart/x-mixed-replace; boundary=frame", .cacheControl: "no-store"],
    body: body)
}

let application = Application(
  router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)))
// Until SIGTERM or Ctrl-C, which end the streams too.
try await application.runService()
await session.close()
