// Places for work: as many as there are, and given back.
import GLPreview
import Synchronization
import Testing

@Suite("Places")
struct PlacesTests {
  @Test("no more are at work than there are places, and errors give their places back")
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
