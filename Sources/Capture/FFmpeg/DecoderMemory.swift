// What a decoder of FFmpeg's takes of a memory budget: asked before it takes memory for pictures of another size.
internal import CAV
internal import Synchronization

/// The reservation of one decoder, which must not outlive it.
final class DecoderMemory: Sendable {
  private let budget: MemoryBudget?
  private let lease = Mutex<MemoryLease?>(nil)

  init(_ budget: MemoryBudget?) { self.budget = budget }

  /// Whether there is room for `byteCount` bytes in sum; they are reserved then.
  private func mayTake(_ byteCount: Int) -> Bool {
    guard let budget else { return true }
    return lease.withLock { lease in
      do throws(MemoryBudget.Exceeded) {
        if let lease { try lease.resize(to: byteCount) } else { lease = try budget.reserve(byteCount) }
        return true
      } catch {
        return false
      }
    }
  }

  /// For a decoder that ends before this object does.
  @unsafe var inC: glp_av_memory {
    unsafe glp_av_memory(
      may_take: { context, byteCount in
        guard let context = unsafe context else { return true }
        return unsafe Unmanaged<DecoderMemory>.fromOpaque(context).takeUnretainedValue()
          .mayTake(Int(byteCount))
      }, context: Unmanaged.passUnretained(self).toOpaque())
  }
}
