// A server's response as it arrives: its head, then its bytes, no faster than they are read.
internal import NIOCore
internal import NIOHTTP1

struct HTTPChunk: Sendable {
  let bytes: [UInt8]
  /// When they arrived.
  let time: CaptureInstant
}

/// One response, passed from the connection's thread to one task.
final class HTTPAnswer: Sendable {
  /// The most unread bytes; beyond them the server is not read.
  private static let capacity = 1 << 20

  private struct State: Sendable {
    var head: HTTPResponseHead?
    var headTime = CaptureInstant.start
    var chunks: [HTTPChunk] = []
    var byteCount = 0
    /// The number of bytes that `sniff` has looked at.
    var sniffedCount = 0
    /// Called when there is room again; nil while there is.
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

  /// Waits until `look` tells what the body is from its first bytes, which stay unread. At the end, and where no
  /// more bytes are taken before some are read, it must tell.
  func sniff<Kind: Sendable>(_ look: (_ start: [UInt8], _ isEnd: Bool) -> Kind?) async throws -> Kind {
    try await wait { state in
      let isEnd = state.end != nil || state.byteCount >= Self.capacity
      // Looked at in doubling steps, because each begins at the first byte.
      guard isEnd || state.byteCount >= 2 * state.sniffedCount else { return nil }
      state.sniffedCount = max(state.byteCount, 1)
      if case .failure(let error) = state.end {
        guard let kind = look(state.chunks.flatMap(\.bytes), false) else { throw error }
        return kind
      }
      return look(state.chunks.flatMap(\.bytes), isEnd)
    }
  }

  /// All bytes; nil if there are more than `limit`.
  func body(limit: Int) async throws -> [UInt8]? {
    var bytes: [UInt8] = []
    while let chunk = try await next() {
      guard bytes.count + chunk.bytes.count <= limit else { return nil }
      bytes += chunk.bytes
    }
    return bytes
  }

  private func wait<Value: Sendable>(_ look: (inout State) throws -> Value?) async throws -> Value {
    guard let value = try await state.first(look) else { throw CancellationError() }
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

  /// Adds bytes; false if there is no room for more. Then `onRoom` is called when there is.
  func add(_ bytes: ByteBuffer, onRoom: @escaping @Sendable () -> Void) -> Bool {
    let chunk = HTTPChunk(bytes: Array(bytes.readableBytesView), time: CaptureClock.now)
    return state.update { state in
      state.chunks.append(chunk)
      state.byteCount += chunk.bytes.count
      guard state.byteCount >= Self.capacity else { return true }
      state.onRoom = onRoom
      return false
    }
  }

  func end(_ result: Result<Void, any Error>) {
    state.update { state in
      if state.end == nil { state.end = result }
      state.onRoom = nil
    }
  }
}
