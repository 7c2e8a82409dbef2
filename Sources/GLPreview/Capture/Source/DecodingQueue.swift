// Threads that decode pictures in parallel. They are separate from Swift's own, which must stay free to pass frames on.
internal import Dispatch

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
