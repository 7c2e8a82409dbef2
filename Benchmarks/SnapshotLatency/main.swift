// How long a snapshot of a running session takes, from the call to the handler that holds the JPEG: the newest frame of a
// camera of 1080p at 30 frames a second, while somebody looks at a preview. Printed beside the time between two frames.
//
//     GLPREVIEW_PROGRAMS=benchmarks swift run -c release snapshot-latency VIDEO.y4m [COUNT]
import GLPreview
import Glibc

let arguments = CommandLine.arguments
guard arguments.count > 1 else {
  print("usage: snapshot-latency VIDEO.y4m [COUNT]")
  exit(64)
}
let count = arguments.count > 2 ? Int(arguments[2]) ?? 500 : 500

let session = try PreviewSession(SessionSource(arguments[1]))
let preview = try session.addPreview(ViewConfiguration(name: "preview", width: 640, height: 360))
_ = try session.addPreview(ViewConfiguration(name: "thumbnail", width: 320, height: 180))

/// Somebody looks at the preview all the time.
let watching = Task {
  var seen = 0
  for try await frame in preview.pictures(for: .jpeg) {
    _ = try await frame.jpeg()
    seen += 1
  }
  return seen
}

/// The times of `count` snapshots of a preview, at moments that have nothing to do with the camera's.
func measure(_ name: String) async throws -> [Duration] {
  let trigger = SnapshotTrigger()
  let (encoded, done) = AsyncStream.makeStream(of: (time: CaptureInstant, age: Duration, bytes: Int).self)
  session.attach(trigger, SnapshotRequest(.newest, of: [name])) { result in
    guard let snapshot = try? result.get(), let jpeg = try? snapshot[name]?.encodedJPEG() else { return }
    let now = CaptureClock.now
    done.yield((now, now - snapshot.timestamp, jpeg.bytes.count))
  }
  var generator = SystemRandomNumberGenerator()
  var times: [Duration] = []
  var arrivals = encoded.makeAsyncIterator()
  for number in 0..<count + 20 {
    try await Task.sleep(for: .milliseconds(Int.random(in: 1...60, using: &generator)))
    let start = CaptureClock.now
    trigger.capture()
    guard let arrival = await arrivals.next() else { break }
    // The first ones wait for programs that are made once.
    if number >= 20 { times.append(arrival.time - start) }
  }
  return times.sorted()
}

func milliseconds(_ time: Duration) -> String {
  let hundredths = Int((time / .microseconds(10)).rounded())
  return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
}

let interval = Duration.seconds(1) / 30
for name in ["preview", "thumbnail"] {
  let times = try await measure(name)
  func percentile(_ share: Double) -> Duration {
    times[min(times.count - 1, Int(Double(times.count) * share))]
  }
  let ratio = Int((percentile(0.99) / interval * 100).rounded())
  print(
    "\(name): median \(milliseconds(percentile(0.5))) ms, 99 in 100 within \(milliseconds(percentile(0.99))) ms,"
      + " most \(milliseconds(times[times.count - 1])) ms; \(ratio)% of the time between two frames")
}
let statistics = session.statistics
await session.close()
print("\(statistics.frames) frames, \(try await watching.value) seen")
