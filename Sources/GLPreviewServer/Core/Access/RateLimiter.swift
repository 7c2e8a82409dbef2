// Limits the requests per second of each client with a token bucket.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Synchronization

/// Counts requests per client.
package final class RateLimiter: Sendable {
  private struct Bucket {
    var tokens: Double
    var time: CaptureInstant
  }

  private struct State {
    var buckets: [ClientGroup: Bucket] = [:]
    /// The bucket of all clients beyond the capacity.
    var others: Bucket
    var nextSweep = CaptureInstant.start
  }

  private let rate: Double
  private let burst: Double
  private let capacity: Int
  private let now: @Sendable () -> CaptureInstant
  private let state: Mutex<State>

  /// Creates a limiter. `rate` is the sustained rate: bursts may have twice as many requests, at least two.
  /// `capacity` clients are counted separately; all others share one bucket.
  init(
    requestsPerSecond rate: Double, capacity: Int = 4096,
    now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }
  ) {
    self.rate = max(rate, 0.001)
    burst = max(2 * rate, 2)
    self.capacity = capacity
    self.now = now
    state = Mutex(State(others: Bucket(tokens: burst, time: now())))
  }

  /// Counts a request. Returns nil if it is allowed; otherwise the seconds until the next one is.
  package func secondsToWait(_ client: ClientGroup) -> Int? {
    let time = now()
    return state.withLock { state in
      if state.buckets[client] == nil { makeRoom(&state, time) }
      guard state.buckets[client] != nil || state.buckets.count < capacity else {
        return take(from: &state.others, time)
      }
      return take(from: &state.buckets[client, default: Bucket(tokens: burst, time: time)], time)
    }
  }

  private func take(from bucket: inout Bucket, _ time: CaptureInstant) -> Int? {
    bucket.tokens = tokens(in: bucket, time)
    bucket.time = time
    guard bucket.tokens < 1 else {
      bucket.tokens -= 1
      return nil
    }
    return max(1, Int(((1 - bucket.tokens) / rate).rounded(.up)))
  }

  private func tokens(in bucket: Bucket, _ time: CaptureInstant) -> Double {
    min(burst, bucket.tokens + (time - bucket.time) / .seconds(1) * rate)
  }

  /// Forgets full buckets, which hold no information, at most once a second, so that many clients cost little
  /// more than a few.
  private func makeRoom(_ state: inout State, _ time: CaptureInstant) {
    guard state.buckets.count >= capacity, time >= state.nextSweep else { return }
    state.nextSweep = time + .seconds(1)
    state.buckets = state.buckets.filter { tokens(in: $0.value, time) < burst }
  }
}

/// Rejects clients with too many requests: 429 with `Retry-After`.
struct RateLimitMiddleware: ServiceMiddleware {
  let limiter: RateLimiter
  /// Counts the requests of supervisors, which may come from the address of a busy client: they would treat
  /// 429 as a failed service.
  let probes: RateLimiter

  private static let probed: Set<String> = ["/healthz", "/health", "/readyz"]

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    // All clients of a proxy come through a Unix socket; only the proxy can distinguish them.
    let limiter = Self.probed.contains(request.uri.path) ? probes : limiter
    if !context.client.isLocal, let seconds = limiter.secondsToWait(context.client) {
      throw Problem.busy(.tooManyRequests, "too many requests from this client", retryAfter: seconds)
    }
    return try await next(request, context)
  }
}
