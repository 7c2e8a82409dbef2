// A thread on which a source reads and decodes. A read from a pipe can block forever, and must not occupy one of the
// few threads of Swift's pool.
internal import Dispatch

/// A serial executor for one source.
final class ReadingQueue: SerialExecutor {
  private let queue: DispatchQueue

  /// Debuggers show `name`.
  init(named name: String) {
    queue = DispatchQueue(label: "glpreview.source.\(name)")
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = unsafe asUnownedSerialExecutor()
    queue.async { unsafe job.runSynchronously(on: executor) }
  }
}

/// An executor for CPU-bound work; runs as many jobs at a time as there are cores.
package final class DecodingQueue: TaskExecutor {
  package static let shared = DecodingQueue()

  private let queue = DispatchQueue(label: "glpreview.decode", attributes: .concurrent)

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = unsafe asUnownedTaskExecutor()
    queue.async { unsafe job.runSynchronously(on: executor) }
  }
}
