// A thread on which a source reads and decodes. A read from a pipe can block forever, and must not occupy one of the
// few threads of Swift's pool.
internal import Dispatch

/// A serial executor for one source.
package final class ReadingQueue: SerialExecutor {
  private let queue: DispatchQueue

  /// Debuggers show `name`.
  package init(named name: String) {
    queue = DispatchQueue(label: "glpreview.source.\(name)")
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // A job may release the actor, which holds this executor, while it runs.
    queue.async { [self] in unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
  }
}

/// Threads that decode and encode pictures in parallel, as many jobs at a time as there are cores. They are separate
/// from Swift's own, which must stay free to pass frames on and to answer requests.
package final class DecodingQueue: TaskExecutor {
  package static let shared = DecodingQueue()

  /// Swift runs its tasks on Dispatch's threads of the default quality of service, as many as there are cores.
  private let queue = DispatchQueue(label: "glpreview.decode", qos: .utility, attributes: .concurrent)

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = unsafe asUnownedTaskExecutor()
    queue.async { unsafe job.runSynchronously(on: executor) }
  }
}
