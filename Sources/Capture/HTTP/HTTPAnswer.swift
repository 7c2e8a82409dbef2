// A server's response as it arrives: its head, then its bytes, no faster than the reader takes them.
internal import NIOCore
internal import NIOHTTP1

struct HTTPChunk: Sendable {
  let bytes: [UInt8]
  /// The arrival time.
  let time: CaptureInstant
}

/// One response, handed from the connection's thread to one task.
final class HTTPAnswer: Sendable {
  /// The most unread bytes. Beyond these, no more is read from the server.
  private static let capacity = 1 << 20

  private struct State: Sendable {
    var head: HTTPResponseHead?
    var headTime = CaptureInstant.start
    var chunks: [HTTPChunk] = []
    var byteCount = 0
    /// The number of unread bytes that the reader waits for; less is not worth waking it.
    var wanted = 1
    /// The number of bytes that `sniff` has examined.
    var sniffedCount = 0
    /// Called when there is space again; nil while there is space.
    var onRoom: (@Sendable () -> Void)?
    var end: Result<Void, any Error>?
  }

  private let state = Watched(State())

  // MARK: For the reader

  func head() async throws -> (HTTPResponseHead, time: CaptureInstant) {
    try await wait { state in
      if let head = state.head { return (head, state.headTime) }
      if case .failure(let error) = state.end { throw error }
      return nil
    }
  }

  func next() async throws -> HTTPChunk? {
    let (chunk, onRoom) = try await wait { state -> (HTTPChunk?, (@Sendable () -> Void)?)? in
      if !state.chunks.isEmpty {
        let chunk = state.chunks.removeFirst()
        state.byteCount -= chunk.bytes.count
        guard state.byteCount < Self.capacity else { return (chunk, nil) }
        defer { state.onRoom = nil }
        return (chunk, state.onRoom)
      }
      switch state.end {
      case .success: return (nil, nil)
      case .failure(let error): throw error
      case nil: return nil
      }
    }
    onRoom?()
    return chunk
  }

  /// Waits for `count` bytes, or for as many as can be stored unread, or for the end. Returns all unread chunks;
  /// none at the end.
  func chunks(ofAtLeast count: Int) async throws -> [HTTPChunk] {
    let (chunks, onRoom) = try await wait { state -> ([HTTPChunk], (@Sendable () -> Void)?)? in
      state.wanted = min(count, Self.capacity)
      guard state.byteCount >= state.wanted || state.end != nil else { return nil }
      if state.chunks.isEmpty, case .failure(let error) = state.end { throw error }
      defer { (state.chunks, state.byteCount, state.wanted, state.onRoom) = ([], 0, 1, nil) }
      return (state.chunks, state.onRoom)
    }
    onRoom?()
    return chunks
  }

  /// Waits until `recognise` knows the body's content by its first bytes, which stay unread. `recognise` must
  /// return a result if `isEnd` is true: at the end of the body, and when no more bytes can be stored unread.
  func sniff<Kind: Sendable>(_ recognise: (_ start: [UInt8], _ isEnd: Bool) -> Kind?) async throws -> Kind {
    try await wait { state in
      let isEnd = state.end != nil || state.byteCount >= Self.capacity
      // Examined in doubling steps, because each starts at the first byte.
      guard isEnd || state.byteCount >= 2 * state.sniffedCount else { return nil }
      state.sniffedCount = max(state.byteCount, 1)
      if case .failure(let error) = state.end {
        guard let kind = recognise(state.chunks.flatMap(\.bytes), false) else { throw error }
        return kind
      }
      return recognise(state.chunks.flatMap(\.bytes), isEnd)
    }
  }

  /// Returns all bytes; nil if there are more than `limit`.
  func body(limit: Int) async throws -> [UInt8]? {
    var bytes: [UInt8] = []
    while let chunk = try await next() {
      guard bytes.count + chunk.bytes.count <= limit else { return nil }
      bytes += chunk.bytes
    }
    return bytes
  }

  private func wait<Value: Sendable>(_ result: (inout State) throws -> Value?) async throws -> Value {
    guard let value = try await state.first(result) else { throw CancellationError() }
    return value
  }

  // MARK: For the connection

  func begin(_ head: HTTPResponseHead) {
    let now = CaptureClock.now
    state.update { state in
      state.head = head
      state.headTime = now
    }
  }

  /// Adds bytes; false if there is no space for more. `onRoom` is then called as soon as there is.
  func add(_ bytes: ByteBuffer, onRoom: @escaping @Sendable () -> Void) -> Bool {
    let chunk = HTTPChunk(bytes: Array(bytes.readableBytesView), time: CaptureClock.now)
    let (hasRoom, isEnough) = state.withLock { state in
      state.chunks.append(chunk)
      state.byteCount += chunk.bytes.count
      let hasRoom = state.byteCount < Self.capacity
      if !hasRoom { state.onRoom = onRoom }
      return (hasRoom, state.byteCount >= state.wanted)
    }
    if isEnough { state.update { _ in } }
    return hasRoom
  }

  func end(_ result: Result<Void, any Error>) {
    state.update { state in
      if state.end == nil { state.end = result }
      state.onRoom = nil
    }
  }
}
