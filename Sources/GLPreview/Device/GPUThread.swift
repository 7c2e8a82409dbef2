// The only thread that may call GL for a context, as the executor of an actor.
internal import Glibc
internal import Synchronization

/// Runs an actor's jobs in order on one pthread, from creation until release.
///
/// A waiting job holds its executor, so the thread gets its request to stop after the last job.
final class GPUThread: SerialExecutor {
  private let jobs: JobQueue

  /// Starts the thread. `top -H` and debuggers show the first 15 bytes of `name`. In the background, it runs when
  /// no other thread would.
  init(named name: String, isBackground: Bool = false) throws(ThreadError) {
    jobs = JobQueue(threadName: name, isBackground: isBackground)
    try jobs.start()
  }

  deinit { jobs.stop() }

  func enqueue(_ job: consuming ExecutorJob) {
    jobs.append(JobQueue.Entry(job: UnownedJob(job), executor: self))
  }

  /// Returns when the thread has no other work: after all waiting jobs and those that arrive meanwhile. Callers
  /// return in the order of their calls.
  func idle(isolation: isolated (any Actor)? = #isolation) async {
    await withCheckedContinuation { jobs.append(idle: $0) }
    jobs.idleReturned()
  }

  func checkIsolated() {
    precondition(jobs.isCurrentThread, "GL may only be called on its own thread")
  }

  func isIsolatingCurrentContext() -> Bool? { jobs.isCurrentThread }
}

struct ThreadError: Error, Equatable, CustomStringConvertible {
  let status: CInt
  var description: String { "no thread for the GPU: \(String(errno: status))" }
}

/// A FIFO queue of jobs, and the pthread that runs them.
@safe private final class JobQueue: Sendable {
  /// A job, and its executor, which must outlive it.
  struct Entry: Sendable {
    let job: UnownedJob
    let executor: GPUThread
  }

  private enum Work {
    case jobs([Entry])
    case idle(CheckedContinuation<Void, Never>)
  }

  private struct State {
    var waiting: [Entry] = []
    /// Resumed when no job is waiting. The actor's call that each belongs to holds the executor.
    var idle: [CheckedContinuation<Void, Never>] = []
    /// Whether the caller resumed last has not returned yet. Swift may route a resumed task through another thread
    /// before it becomes a job here. The next caller is only resumed afterwards, because it could otherwise return
    /// first.
    var isIdleReturning = false
    var isStopped = false
    var thread: pthread_t = 0
  }

  private let threadName: String
  private let isBackground: Bool
  // `state` and `changed` are used only while the mutex is locked.
  private nonisolated(unsafe) let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private nonisolated(unsafe) let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private nonisolated(unsafe) var state = State()
  /// Outside `state`, so that reading it does not wait for the lock.
  private let threadIdentity = Atomic<Int>(0)

  init(threadName: String, isBackground: Bool) {
    self.threadName = threadName
    self.isBackground = isBackground
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(changed, nil)
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe pthread_mutex_destroy(mutex)
    unsafe changed.deallocate()
    unsafe mutex.deallocate()
  }

  var isCurrentThread: Bool { threadIdentity.load(ordering: .acquiring) == ThreadIdentity.current }

  /// Signals are left to the program's other threads: a SIGINT must not interrupt a driver. A fault of the thread itself
  /// is not: blocked, it would end the process before Swift writes where it was.
  func start() throws(ThreadError) {
    var others = sigset_t()
    var signalsBefore = sigset_t()
    unsafe sigfillset(&others)
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] {
      unsafe sigdelset(&others, fault)
    }
    unsafe pthread_sigmask(SIG_SETMASK, &others, &signalsBefore)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &signalsBefore, nil) }

    var thread = pthread_t()
    let queue = unsafe Unmanaged.passRetained(self)
    let status = unsafe pthread_create(
      &thread, nil,
      { queue in
        guard let queue = unsafe queue else { return nil }
        unsafe Unmanaged<JobQueue>.fromOpaque(queue).takeRetainedValue().run()
        return nil
      }, queue.toOpaque())
    guard status == 0 else {
      unsafe queue.release()
      throw ThreadError(status: status)
    }
    locked { unsafe state.thread = thread }
  }

  func append(_ entry: Entry) { change { unsafe state.waiting.append(entry) } }

  func append(idle continuation: CheckedContinuation<Void, Never>) {
    change { unsafe state.idle.append(continuation) }
  }

  /// The caller resumed last is running again.
  func idleReturned() { change { unsafe state.isIdleReturning = false } }

  /// The executor is released, so no job waits or runs, except if the last one is ending on this very thread.
  func stop() {
    let thread = change {
      unsafe state.isStopped = true
      return unsafe state.thread
    }
    if isCurrentThread {
      pthread_detach(thread)
    } else {
      pthread_join(thread, nil)
    }
  }

  private func run() {
    threadIdentity.store(ThreadIdentity.current, ordering: .releasing)
    nameThread()
    // Linux sets the priority of the calling thread alone (setpriority(2), BUGS).
    if isBackground { setpriority(CInt(PRIO_PROCESS.rawValue), 0, 19) }
    while let work = nextWork() {
      switch work {
      case .jobs(let batch):
        for entry in batch {
          DriverTurn.take()
          unsafe entry.job.runSynchronously(on: entry.executor.asUnownedSerialExecutor())
          DriverTurn.give()
        }
      case .idle(let continuation):
        // Its continuation comes back as a job.
        continuation.resume()
      }
    }
  }

  /// All waiting jobs at once; without any, the first caller of `idle`; nil when the thread must stop.
  private func nextWork() -> Work? {
    locked {
      while unsafe state.waiting.isEmpty {
        if unsafe !state.idle.isEmpty, unsafe !state.isIdleReturning {
          unsafe state.isIdleReturning = true
          return unsafe .idle(state.idle.removeFirst())
        }
        if unsafe state.isStopped { return nil }
        unsafe pthread_cond_wait(changed, mutex)
      }
      defer { unsafe state.waiting = [] }
      return unsafe .jobs(state.waiting)
    }
  }

  /// Changes the state and wakes the thread. It is woken while it can't go on: the last job releases the executor, and
  /// with it this queue, perhaps before the caller that added the job returns.
  private func change<Result>(_ body: () -> Result) -> Result {
    locked {
      defer { unsafe pthread_cond_signal(changed) }
      return body()
    }
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Through the file in /proc, because Swift does not import `pthread_setname_np`.
  private func nameThread() {
    let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    defer { close(file) }
    let bytes = Array(threadName.utf8.prefix(15))
    _ = unsafe write(file, bytes, bytes.count)
  }
}
