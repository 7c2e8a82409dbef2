// One camera, drawn many times in one picture: each instance smaller, turned a little further, tinted, and a moment later
// than the one before, as Core Animation's replicator layers do it.
import FoundationEssentials
import GLPreview

let folder = CommandLine.arguments.dropFirst().first ?? "out/examples/Replicator"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

let session = try PreviewSession(SessionSource("pattern:counter,size=640x360,fps=30"))

let spiral = Replicator(
  instanceCount: 12,
  transform: .scale(x: 0.88, y: 0.88).followed(by: .rotation(degrees: 10)).followed(
    by: .translation(x: 26, y: 10)),
  colorOffset: [6, -4, -10], opacityOffset: -0.04, delay: .milliseconds(100))
let size = Size(width: 960, height: 540)
let scene = Scene(
  size: size, layout: .free,
  tiles: [
    Tile(
      "camera", rectangle: Rectangle(x: 120, y: 60, width: 560, height: 315), cornerRadius: 18,
      border: Border(width: 3, color: .white), replicator: spiral)
  ], background: .gradient(.dusk))
let preview = try session.addScene(scene, name: "spiral")

// Two seconds, so that the last instance has a moment of its own to show.
let end = CaptureClock.now + .seconds(2)
var count = 0
for try await frame in preview.pictures(for: .jpeg) {
  count += 1
  guard CaptureClock.now >= end else { continue }
  let file = "\(folder)/spiral.jpg"
  try await frame.jpeg(quality: 85).write(to: file)
  print("\(file): \(frame.picture.size), the last of \(count) pictures")
  break
}
await session.close()
