// A snapshot of a whole call: nine participants in a grid, one with the camera off, one speaking. A button far away takes
// it, and what comes of it is an event of less than 5,000 bytes that could be sent to all of them.
import FoundationEssentials
import GLPreview

let folder = CommandLine.arguments.dropFirst().first ?? "out/examples/CallSnapshot"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

/// Who takes part, and what their cameras show.
let participants: [(name: String, camera: String)] = [
  ("Ann", "pattern:smpte,size=640x360"), ("Bo", "pattern:zoneplate,size=640x360"),
  ("Chidi", "pattern:gradient,size=640x360"), ("Dana", "pattern:counter,size=640x360"),
  ("Eleni", "pattern:smpte,size=480x360"), ("Farid", "pattern:counter,size=360x640"),
  ("Gita", "pattern:gradient,size=640x480"), ("Hugo", "pattern:zoneplate,size=480x640"),
  ("Imani", "pattern:smpte,size=1280x720"),
]

/// A picture to stand in for a camera: a person on a colour.
let avatar = StillImage(.person, on: RGBColor(red: 0x6a, green: 0x4c, blue: 0x93))

let sources = participants.map { name, camera in
  var source = SessionSource(camera, name: name)
  if name == "Dana" { source.fallback = Fallback(avatar: avatar) }
  return source
}
let session = try PreviewSession(sources)
await session["Dana"]?.setEnabled(false)

let tiles = participants.map { name, _ in
  var tile = Tile(name, isSpeaking: name == "Chidi", label: Label(name: name, size: 18))
  // Portraits are shown whole, over their own blurred copies.
  tile.view.contentMode = .fit
  tile.view.surround = .blur
  return tile
}
var scene = Scene(
  size: Size(width: 1280, height: 720), tiles: tiles,
  background: .gradient(.dusk), gap: 12, cornerRadius: 16)
scene.labels = [Label(.time(.standard), position: .topRight, margin: 20)]
_ = try session.addScene(scene, name: "call")

// The button may be anywhere: it knows nothing of the session.
let trigger = SnapshotTrigger()
let (snapshots, taken) = AsyncStream.makeStream(of: Result<Snapshot, any Error>.self)
session.attach(trigger, SnapshotRequest(.newest, of: ["call"])) { taken.yield($0) }

trigger.capture()
guard let snapshot = try await snapshots.first(where: { _ in true })?.get() else { throw CancellationError() }

let event = try snapshot.event(
  type: "call.snapshot", maxEventBytes: 5_000, fitting: Size(width: 640, height: 360),
  metadata: ["by": "Ann"])
try event.write(to: "\(folder)/event.json")
if let picture = snapshot["call"] {
  try await picture.jpeg(quality: 85).write(to: "\(folder)/call.jpg")
}
print("\(folder)/event.json: \(event.json.count) bytes, a JPEG of \(event.picture.size) in it")
await session.close()
