// A server's answer while it comes: its head, then its bytes, as fast as they are taken and no faster.
#if HTTP
  internal import AsyncHTTPClient
  internal import NIOCore
  internal import NIOHTTP1
  internal import PreviewCore

  /// Bytes as they came.
  struct HTTPChunk: Sendable {
    let bytes: [UInt8]
    /// When; by `CaptureClock`.
    let time: Duration
  }

  /// One answer, between the client's thread that brings it and one task that takes it.
  final class HTTPAnswer: HTTPClientResponseDelegate {
    /// What waits untaken before the server is not read any more.
    private static let capacity = 1 << 20

    private struct State: Sendable {
      var head: HTTPResponseHead?
      var headTime = Duration.zero
      var chunks: [HTTPChunk] = []
      var byteCount = 0
      /// Kept by the client's thread until there is room again.
      var room: EventLoopPromise<Void>?
      var end: Result<Void, any Error>?
    }

    private let state = Watched(State())

    // A promise is kept whatever happens.
    deinit { state.withLock { $0.room }?.succeed() }

    // MARK: For who takes it

    /// Status and header, and when they came.
    func head() async throws -> (HTTPResponseHead, time: Duration) {
      try await wait { state in
        if let head = state.head { return (head, state.headTime) }
        if case .failure(let error) = state.end { throw error }
        return nil
      }
    }

    /// The next bytes; nil at the end.
    func next() async throws -> HTTPChunk? {
      let (chunk, room) = try await wait { state -> (HTTPChunk?, EventLoopPromise<Void>?)? in
        if !state.chunks.isEmpty {
          let chunk = state.chunks.removeFirst()
          state.byteCount -= chunk.bytes.count
          guard state.byteCount < Self.capacity else { return (chunk, nil) }
          defer { state.room = nil }
          return (chunk, state.room)
        }
        switch state.end {
        case .success: return (nil, nil)
        case .failure(let error): throw error
        case nil: return nil
        }
      }
      room?.succeed()
      return chunk
    }

    /// All bytes; nil where there are more than `limit`.
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

    // MARK: For the client

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
      let now = CaptureClock.now
      state.update { state in
        state.head = head
        state.headTime = now
      }
      return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
      let chunk = HTTPChunk(bytes: Array(buffer.readableBytesView), time: CaptureClock.now)
      let room = state.update { state -> EventLoopPromise<Void>? in
        state.chunks.append(chunk)
        state.byteCount += chunk.bytes.count
        guard state.byteCount >= Self.capacity, state.end == nil else { return nil }
        state.room = task.eventLoop.makePromise(of: Void.self)
        return state.room
      }
      return room?.futureResult ?? task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) { end(.failure(error)) }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws { end(.success(())) }

    private func end(_ result: Result<Void, any Error>) {
      let room = state.update { state -> EventLoopPromise<Void>? in
        if state.end == nil { state.end = result }
        defer { state.room = nil }
        return state.room
      }
      room?.succeed()
    }
  }
#endif
