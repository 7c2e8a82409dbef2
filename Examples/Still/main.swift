// A photograph while a preview runs: the preview is small, the still has all that the camera can give. A camera with a
// choice of sizes is switched to its largest for one frame, and back; the preview pauses meanwhile, and goes on.
import FoundationEssentials
import GLPreview

let folder = CommandLine.arguments.dropFirst().first ?? "out/examples/Still"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
// Any camera: `Still out/examples/Still /dev/video0`.
let camera = CommandLine.arguments.dropFirst(2).first ?? "pattern:counter,size=1920x1080,fps=30"

let session = try PreviewSession(SessionSource(camera))
let preview = try session.addPreview(ViewConfiguration(name: "preview", width: 320, height: 180))
_ = try session.addPreview(ViewConfiguration(name: "photograph"))

/// Reads the preview until it has seen `count` pictures; gives the last.
func watch(_ count: Int) async throws -> RenderedPicture? {
  var last: RenderedPicture?
  var seen = 0
  for try await frame in preview.pictures(for: .jpeg) {
    last = frame
    seen += 1
    if seen == count { break }
  }
  return last
}

let before = try await watch(10)
async let during = watch(20)
let still = try await session.snapshot(SnapshotRequest(.still, of: ["photograph"]))
let after = try await during

if let photograph = still["photograph"] {
  let jpeg = try await photograph.jpeg(quality: 90)
  try jpeg.write(to: "\(folder)/photograph.jpg")
  print("\(folder)/photograph.jpg: \(jpeg.size), frame \(still.sequence), \(still.time)")
}
if let before, let after {
  try await after.jpeg().write(to: "\(folder)/preview.jpg")
  print(
    "\(folder)/preview.jpg: \(after.picture.size); frames \(before.sequence) before and \(after.sequence) after"
  )
}
await session.close()
