// Threads that decode and encode pictures in parallel. They are separate from Swift's own, which must stay free to pass
// frames on and to answer requests.
internal import Dispatch

/// An executor for CPU-bound work; runs as many jobs at a time as there are cores.
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
