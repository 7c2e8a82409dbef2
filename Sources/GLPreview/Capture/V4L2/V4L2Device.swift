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
  private let known = Mutex(Known())

  /// What the first connection found out.
  private struct Known {
    /// Which camera it was that gave pictures.
    var camera: V4L2Identity?
    var others: Set<String> = []
    var reference: Size?
  }

  /// Touches nothing.
  init(_ text: String, _ options: SourceOptions) throws(SourceError) {
    name = text
    locator = try V4L2Locator(text)
    self.options = options
    memory = options.memory ?? FramePool()
  }

  func connect() async throws -> any CaptureConnection {
    let before = known.withLock { $0 }
    let connection = V4L2Connection(
      name: name, locator.preferences, options, memory, reference: before.reference)
    let found = try await connection.open(locator.path, knownAs: before.camera, besides: before.others)
    let reference = await connection.mode.referenceSize
    let others = found.map { V4L2Nodes.lookalikes(of: $0) }
    known.withLock { known in
      known.reference = reference
      if let found, let others { (known.camera, known.others) = (found, others) }
    }
    return connection
  }
}
