// Thumbnails of files without a session: `Thumbnails out/examples/Thumbnails a.jpg b.png`. Without files, of a video's frames.
import FoundationEssentials
import GLPreview

let arguments = Array(CommandLine.arguments.dropFirst())
let folder = arguments.first ?? "out/examples/Thumbnails"
let files = Array(arguments.dropFirst())
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

let renderer = try await PictureRenderer.open()
let pipeline = RenderPipeline(
  [
    ViewConfiguration(name: "small", width: 320),
    ViewConfiguration(name: "tiny", width: 64, height: 64),
  ], encoder: PictureEncoder(.jpeg, maximumBytes: 20_000), on: renderer)

if files.isEmpty {
  let schedule = FrameSchedule(limit: 3, every: 25)
  try await pipeline.render("pattern:counter,size=1280x720", schedule) { picture in
    let file = "\(folder)/\(picture.view)-\(picture.frame).jpg"
    try picture.file?.write(to: file)
    print("\(file): \(picture.size)")
  }
} else {
  try await pipeline.render(files: files) { index, result in
    switch result {
    case .success(let pictures):
      for picture in pictures { try picture.file?.write(to: "\(folder)/\(picture.view)-\(index).jpg") }
    case .failure(let error): print(error)
    }
  }
}
await renderer.close()
