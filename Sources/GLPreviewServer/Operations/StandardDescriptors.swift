// Ensures that descriptors 0 to 2 are open. If the parent process has closed one, the next opened file or socket
// would get its number, and messages for the user would be written into it.
internal import Glibc

/// The standard streams' descriptors.
package enum StandardDescriptors {
  /// Opens `/dev/null` for each closed one. Must be called before anything else is opened.
  package static func fillGaps() {
    // `open` returns the lowest free number.
    while true {
      let descriptor = unsafe open("/dev/null", O_RDWR)
      guard descriptor >= 0, descriptor <= STDERR_FILENO else {
        if descriptor >= 0 { close(descriptor) }
        return
      }
    }
  }
}
