// Threads on which sources read and decode. A read from a pipe can block forever, and must not occupy one of
// the few threads of Swift's pool.
internal import Dispatch

/// A serial executor for one source, with a thread of its own.
package final class ReadingQueue: SerialExecutor {
  private let queue: DispatchQueue

  /// Creates an executor; `name` appears in debuggers.
  package init(named name: String) {
    queue = DispatchQueue(label: "glpreview.source.\(name)")
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // While it runs, a job may release the actor, which owns this executor.
    queue.async { [self] in unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
  }
}

/// Threads that decode and encode pictures in parallel, as many jobs at a time as there are cores. They are
/// separate from Swift's pool, which must stay free to deliver frames and to answer requests.
package final class DecodingQueue: TaskExecutor {
  package static let shared = DecodingQueue()

  /// Swift runs its tasks on Dispatch's threads of the default quality of service, as many as there are
  /// cores.
  private let queue = DispatchQueue(label: "glpreview.decode", qos: .utility, attributes: .concurrent)

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = unsafe asUnownedTaskExecutor()
    queue.async { unsafe job.runSynchronously(on: executor) }
  }
}
