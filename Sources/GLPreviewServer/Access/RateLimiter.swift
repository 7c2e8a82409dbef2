// How many requests a second one client may send: a bucket for each that fills up again.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Synchronization

/// Counts requests by client.
final class RateLimiter: Sendable {
  private struct Bucket {
    var tokens: Double
    var time: Duration
  }

  private struct State {
    var buckets: [ClientGroup: Bucket] = [:]
    /// Of all for whom there is no room.
    var others: Bucket
    var nextSweep = Duration.zero
  }

  private let rate: Double
  private let burst: Double
  private let capacity: Int
  private let now: @Sendable () -> Duration
  private let state: Mutex<State>

  /// - Parameters:
  ///   - rate: requests a second in the long run; twice as many, and at least two, may come at once.
  ///   - capacity: clients that are counted by themselves; more share one bucket.
  ///   - now: the clock.
  init(
    requestsPerSecond rate: Double, capacity: Int = 4096,
    now: @escaping @Sendable () -> Duration = { CaptureClock.now }
  ) {
    self.rate = max(rate, 0.001)
    burst = max(2 * rate, 2)
    self.capacity = capacity
    self.now = now
    state = Mutex(State(others: Bucket(tokens: burst, time: now())))
  }

  /// Counts a request.
  ///
  /// - Returns: nil where it may be; else the seconds until the next may.
  func secondsToWait(_ client: ClientGroup) -> Int? {
    let time = now()
    return state.withLock { state in
      if state.buckets[client] == nil { makeRoom(&state, time) }
      guard state.buckets[client] != nil || state.buckets.count < capacity else {
        return take(from: &state.others, time)
      }
      return take(from: &state.buckets[client, default: Bucket(tokens: burst, time: time)], time)
    }
  }

  private func take(from bucket: inout Bucket, _ time: Duration) -> Int? {
    bucket.tokens = tokens(in: bucket, time)
    bucket.time = time
    guard bucket.tokens < 1 else {
      bucket.tokens -= 1
      return nil
    }
    return max(1, Int(((1 - bucket.tokens) / rate).rounded(.up)))
  }

  private func tokens(in bucket: Bucket, _ time: Duration) -> Double {
    min(burst, bucket.tokens + (time - bucket.time) / .seconds(1) * rate)
  }

  /// Forgets full buckets, which say nothing; once a second at most, so that many clients cost no more than a few.
  private func makeRoom(_ state: inout State, _ time: Duration) {
    guard state.buckets.count >= capacity, time >= state.nextSweep else { return }
    state.nextSweep = time + .seconds(1)
    state.buckets = state.buckets.filter { tokens(in: $0.value, time) < burst }
  }
}

/// Refuses who sends too many requests: 429 with when to come again.
struct RateLimitMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  let limiter: RateLimiter

  func handle(
    _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    let client = ClientGroup(context.clientAddress)
    // Through a local socket come all of a proxy's clients; it knows them, we don't.
    if !client.isLocal, let seconds = limiter.secondsToWait(client) {
      throw Problem.busy(
        .tooManyRequests, "too many requests come from this address", retryAfter: seconds)
    }
    return try await next(request, context)
  }
}
