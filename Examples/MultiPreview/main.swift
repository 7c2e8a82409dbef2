// One camera, four previews of it, each framed in its own way: all of it, mirrored as in a mirror, turned for a portrait
// screen, and a small one that is renewed four times a second. The camera's frames go up to the GPU once for all of them.
import FoundationEssentials
import GLPreview

let folder = CommandLine.arguments.dropFirst().first ?? "out/examples/MultiPreview"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

let session = try PreviewSession(SessionSource("pattern:counter,size=1280x720,fps=30"))
let previews = [
  try session.addPreview(ViewConfiguration(name: "whole", width: 640, height: 360)),
  try session.addPreview(
    ViewConfiguration(
      name: "mirrored", crop: Rectangle(x: 280, y: 0, width: 720, height: 720), mirroring: .horizontal,
      width: 320, height: 320)),
  try session.addPreview(
    ViewConfiguration(name: "portrait", rotation: .clockwise90, width: 270, height: 480)),
  try session.addPreview(
    ViewConfiguration(name: "corner", width: 240, height: 135), updateEvery: .pictureInPicture),
]

/// Reads a preview for two seconds, writes the last picture, and tells how many there were.
func watch(_ preview: ViewPreview) async throws -> String {
  let end = CaptureClock.now + .seconds(2)
  var count = 0
  for try await frame in preview.pictures(for: .jpeg) {
    count += 1
    guard CaptureClock.now >= end else { continue }
    let file = "\(folder)/\(preview.name).jpg"
    try await frame.jpeg().write(to: file)
    return "\(file): \(frame.picture.size), \(count) pictures in 2 s, the last of frame \(frame.sequence)"
  }
  return "\(preview.name) came to its end"
}

try await withThrowingTaskGroup(of: String.self) { group in
  for preview in previews { group.addTask { try await watch(preview) } }
  for try await line in group { print(line) }
}
let statistics = session.statistics
print("\(statistics.frames) frames, \(statistics.renders) renders, \(statistics.pictures) pictures")
await session.close()
