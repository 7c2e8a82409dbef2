// The thread on which a source waits for its bytes and decodes them: a read from a pipe can take forever, and
// must not take one of the few threads that everything else runs on.
internal import Dispatch

/// A serial executor for one source.
final class ReadingQueue: SerialExecutor {
  private let queue: DispatchQueue

  /// `name` is what debuggers show.
  init(named name: String) {
    queue = DispatchQueue(label: "glpreview.source.\(name)")
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = unsafe asUnownedSerialExecutor()
    queue.async { unsafe job.runSynchronously(on: executor) }
  }
}
