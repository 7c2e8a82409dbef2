// Handles a bucket that is replaced, or goes back in time.
internal import Logging
internal import NATS

extension LeaseKeeper {
  /// Watches all changes, until all keys must be read again.
  func follow(_ bucket: KeyValue) async throws(JetStreamError) {
    let (restarts, readings, heartbeat) = state.withLock {
      ($0.restarts, $0.leases.readings, $0.leases.times.heartbeat)
    }
    let result = await withTaskGroup(of: Result<Void, JetStreamError>.self) { group in
      group.addTask {
        do throws(JetStreamError) {
          for try await element in try bucket.watch(heartbeat: heartbeat) {
            if element == .current {
              let made = try? await bucket.created()
              self.state.update { $0.store = made }
            }
            self.receive(element)
          }
          return .success(())
        } catch {
          return .failure(error)
        }
      }
      group.addTask {
        _ = try? await self.state.first {
          $0.restarts == restarts && $0.leases.readings == readings ? nil : true
        }
        return .success(())
      }
      defer { group.cancelAll() }
      return await group.next() ?? .success(())
    }
    try result.get()
  }

  /// A server that comes back may have lost writes that it had acknowledged. Then the revision of this node's
  /// key that this node knows does not exist, and later changes are ignored because their revisions are
  /// lower. Or the bucket was deleted, and perhaps created again by another node. A watch notices that only
  /// by missing heartbeats, which is too late, because other nodes count how long this node's key does not
  /// change.
  ///
  /// If the store has a later revision instead, the watch is late. After `failures` writes, every fifth time, it
  /// may be at a server whose copy stands still: all keys are read again.
  func detectStoreReset(_ key: String, _ revision: UInt64, in bucket: KeyValue, failures: Int) async {
    do throws(JetStreamError) {
      let known = try await bucket.get(key, from: .leader)?.revision ?? 0
      if known > revision, failures.isMultiple(of: 5) { change { $0.leases.readings += 1 } }
      guard known < revision else { return }
    } catch {
      guard error == .streamNotFound else { return }
    }
    logger.warning("lease store reset: reading all keys again")
    change { state in
      state.resetStore()
      state.restarts += 1
    }
  }

  func makeBucket() async throws(JetStreamError) -> KeyValue {
    let stream: JetStream
    do throws(NATSError) { stream = try JetStream(client, timeout: Self.writesWithin) } catch {
      throw .invalid(error)
    }
    do throws(JetStreamError) {
      return try await stream.createBucket(bucket)
    } catch .nameInUse {
      logger.warning(
        "the NATS bucket's configuration differs from this node's; using it unchanged",
        metadata: ["bucket": "\(bucket.bucket)"])
      return try stream.bucket(bucket.bucket)
    }
  }
}
