// Limits the memory that an FFmpeg decoder takes, by a memory budget. The decoder asks before it allocates
// memory for pictures of another size.
internal import CAV
internal import Synchronization

/// The memory reservation of one decoder, which must not outlive it.
final class DecoderMemory: Sendable {
  private let budget: MemoryBudget?
  private let lease = Mutex<MemoryLease?>(nil)

  init(_ budget: MemoryBudget?) { self.budget = budget }

  /// Reserves `byteCount` bytes in total; returns false if there is not enough.
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

  /// The C callback, for a decoder that ends before this object does.
  @unsafe var inC: glp_av_memory {
    unsafe glp_av_memory(
      may_take: { context, byteCount in
        guard let context = unsafe context else { return true }
        return unsafe Unmanaged<DecoderMemory>.fromOpaque(context).takeUnretainedValue()
          .mayTake(Int(byteCount))
      }, context: Unmanaged.passUnretained(self).toOpaque())
  }
}
