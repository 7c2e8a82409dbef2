// Turns of threads on a display whose driver must not draw for two of them at once.
internal import Glibc
internal import Synchronization

/// The right to call the driver of a software display. A thread with a context there has it for each whole job of its
/// `GPUThread`; those that wait get it in their order.
///
/// llvmpipe's contexts of one display share a screen, and each looks into the scenes of all when it binds or maps a
/// texture (Mesa 22.3, `llvmpipe_flush_resource`), while their threads change and free them. With freed memory filled
/// (`MALLOC_PERTURB_`), two threads that draw crash within seconds.
@safe final class DriverTurn: Sendable {
  // All three are used only while the mutex is locked. They are never freed, as displays are never closed.
  private nonisolated(unsafe) let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private nonisolated(unsafe) let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private nonisolated(unsafe) var (last, current) = (0, 1)
  private let users = Atomic(0)

  /// How many contexts take it.
  var contexts: Int { users.load(ordering: .relaxed) }

  init() {
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(changed, nil)
  }

  /// Waits for the turn of the calling thread's context, if that is a software display's.
  static func take() { own?.take() }

  /// Gives it up until the next job.
  static func give() { own?.give() }

  /// Takes the turn of a thread that is about to make a context; nil for hardware.
  static func begin(_ turn: DriverTurn?) {
    turn?.users.add(1, ordering: .relaxed)
    let place = unsafe turn.map { unsafe UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) }
    unsafe pthread_setspecific(key, place)
    take()
  }

  /// Gives the turn up after the context's end.
  static func end() {
    own?.users.subtract(1, ordering: .relaxed)
    give()
    pthread_setspecific(key, nil)
  }

  private static var own: DriverTurn? {
    unsafe pthread_getspecific(key).map { unsafe Unmanaged<DriverTurn>.fromOpaque($0).takeUnretainedValue() }
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let code = unsafe pthread_key_create(&key, nil)
    precondition(code == 0, "no key for a thread's values is left")
    return key
  }()

  private func take() {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    unsafe last += 1
    let number = unsafe last
    while unsafe current != number { unsafe pthread_cond_wait(changed, mutex) }
  }

  private func give() {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    unsafe current += 1
    unsafe pthread_cond_broadcast(changed)
  }
}
