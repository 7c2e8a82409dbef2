// The way to a camera: a node's path the first time, and after that the camera that was there, whatever its node.
internal import PreviewCore
internal import Synchronization

/// A V4L2 camera that can be connected to again and again.
final class V4L2Device: CaptureDevice {
  let name: String
  /// Looking whether a camera is there again costs next to nothing.
  let longestPause = Duration.seconds(1)
  private let locator: V4L2Locator
  private let options: SourceOptions
  private let memory: FramePool
  /// Which camera it was that gave pictures; nil before the first connection.
  private let known = Mutex((camera: V4L2Identity?.none, others: Set<String>()))

  /// Touches nothing.
  init(_ text: String, _ options: SourceOptions) throws(SourceError) {
    name = text
    locator = try V4L2Locator(text)
    self.options = options
    memory = options.memory ?? FramePool()
  }

  func connect() async throws -> any CaptureConnection {
    let (identity, others) = known.withLock { $0 }
    let connection = V4L2Connection(name: name, locator.wishes, options, memory)
    let found = try await connection.open(locator.path, knownAs: identity, besides: others)
    if let found {
      let others = V4L2Nodes.lookalikes(of: found)
      known.withLock { $0 = (found, others) }
    }
    return connection
  }
}
