// Identifies the calling thread, because OpenGL objects belong to one.
internal import Glibc
internal import Synchronization

/// Unique numbers for the threads of the process.
///
/// Not `pthread_self`, which is declared as a constant: in a release build the optimiser keeps its value across an
/// `await` and so confuses threads (seen with Swift 6.3).
enum ThreadIdentity {
  /// The calling thread's number.
  static var current: Int {
    if let number = unsafe pthread_getspecific(key) { return Int(bitPattern: number) }
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: number))
    return number
  }

  private static let count = Atomic<Int>(0)

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    unsafe pthread_key_create(&key, nil)
    return key
  }()
}
