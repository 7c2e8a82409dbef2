// At which node a camera is when its configuration does not say so.
import Testing

@testable import ServiceFoundation

@Test(
  "by default network cameras may move between nodes, and local and multicast sources may not",
  arguments: [
    ("rtsp://a/", true), ("RTSPS://a/", true), ("http://a/", true), ("https://a/", true),
    ("rtmp://a/b", true),
    ("rtmps://a/b", true), ("srt://a:1", true), ("udp://@239.0.0.1:1", false), ("/dev/video0", false),
    ("-", false), ("exec:cat x", false), ("pattern:smpte", false), ("x.jpg", false),
  ])
func homes(source: String, moves: Bool) {
  var camera = CameraConfiguration(source: source)
  #expect(camera.moves == moves)
  #expect(camera.isDevice == ["/dev/video0", "-"].contains(source))
  camera.home = moves ? .node("shed") : .any
  #expect(camera.moves != moves)
}
