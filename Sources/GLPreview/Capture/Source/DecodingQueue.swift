// The threads on which pictures are decoded side by side: beside Swift's own, which must stay free to hand frames on.
internal import Dispatch

/// An executor for work that takes its time on a core, as many at once as there are cores.
package final class DecodingQueue: TaskExecutor {
  package static let shared = DecodingQueue()

  private let queue = DispatchQueue(label: "glpreview.decode", attributes: .concurrent)

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = unsafe asUnownedTaskExecutor()
    queue.async { unsafe job.runSynchronously(on: executor) }
  }
}
