// The GPU of the tests that may draw on any.
import Foundation

/// The GPU that `make test-llvmpipe` names in GLPREVIEW_TEST_GPU; nil if it is not set, and the tests draw on what `auto` finds.
///
/// - Precondition: the name is one of the texts of `Choice`.
package func testedGPU<Choice: LosslessStringConvertible>(as _: Choice.Type) -> Choice? {
  guard let name = ProcessInfo.processInfo.environment["GLPREVIEW_TEST_GPU"] else { return nil }
  guard let choice = Choice(name) else { preconditionFailure("GLPREVIEW_TEST_GPU=\(name) is no GPU") }
  return choice
}
