// Places for work: as many as there are, and given back.
import GLPreview
import Synchronization
import Testing

@Suite("Concurrency limit")
struct PlacesTests {
  @Test("at most 3 of 100 tasks run at a time, and a task that throws frees its slot")
  func places() async throws {
    let places = Places(3)
    let counts = Mutex((present: 0, most: 0, done: 0))

    await withTaskGroup { group in
      for number in 0..<100 {
        group.addTask { @Sendable in
          try? await places.occupied {
            counts.withLock {
              $0.present += 1
              $0.most = max($0.most, $0.present)
            }
            await Task.yield()
            counts.withLock {
              $0.present -= 1
              $0.done += 1
            }
            if number % 2 == 0 { throw CancellationError() }
          }
        }
      }
    }

    #expect(counts.withLock { $0.done } == 100)
    #expect(counts.withLock { $0.most } <= 3)
  }
}
