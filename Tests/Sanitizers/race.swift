// A race on purpose: a ThreadSanitizer that does not report it would report none of ours either.
import Dispatch

final class Number: @unchecked Sendable { var value = 0 }

let number = Number()
DispatchQueue.concurrentPerform(iterations: 4) { _ in for _ in 0..<1_000_000 { number.value += 1 } }
