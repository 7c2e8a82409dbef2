// Descriptors 0 to 2 are standard input, output and errors, whoever starts the process: one that is closed would be given to
// the next file or socket that is opened, and what is said to the user would be written into that.
internal import Glibc

/// The standard streams' descriptors.
package enum StandardDescriptors {
  /// Opens `/dev/null` in the place of those that are closed. To be called before anything is opened.
  package static func fillGaps() {
    // The lowest number that is free is given.
    while true {
      let descriptor = unsafe open("/dev/null", O_RDWR)
      guard descriptor >= 0, descriptor <= STDERR_FILENO else {
        if descriptor >= 0 { close(descriptor) }
        return
      }
    }
  }
}
