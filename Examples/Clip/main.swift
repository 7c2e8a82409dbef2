// A clip of a scene: two cameras side by side for three seconds, as an MP4 file that players seek in.
import FoundationEssentials
import GLPreview

let folder = CommandLine.arguments.dropFirst().first ?? "out/examples/Clip"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

let session = try PreviewSession([
  SessionSource("pattern:counter,size=640x360,fps=30", name: "left"),
  SessionSource("pattern:zoneplate,size=640x360", name: "right"),
])
let scene = try session.addScene(
  Scene(size: Size(width: 960, height: 270), tiles: [Tile("left"), Tile("right")]))

let file = try VideoFileWriter("\(folder)/clip.mp4")
let end = CaptureClock.now + .seconds(3)
var count = 0
for try await sample in scene.video(VideoConfiguration(bitrate: 1_000_000)) {
  try file.append(sample)
  count += 1
  guard CaptureClock.now >= end else { continue }
  let encoder = sample.format.encoder?.rawValue ?? "the camera"
  print("\(count) pictures of \(sample.format.size) by \(encoder), \(sample.format.codec)")
  break
}
try file.finish()
print("\(folder)/clip.mp4: \(file.byteCount) bytes")
await session.close()
