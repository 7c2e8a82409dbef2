// Connects to a camera: by its node the first time, and then to the same camera, whatever its node.
internal import PreviewCore
internal import Synchronization

/// A V4L2 camera that can be connected to repeatedly.
final class V4L2Device: CaptureDevice {
  let name: String
  /// Checking whether a camera is back costs almost nothing.
  let longestPause = Duration.seconds(1)
  private let locator: V4L2Locator
  private let options: SourceOptions
  private let memory: FramePool
  private let known = Mutex(Known())

  /// What earlier connections found out.
  private struct Known {
    /// The camera that was connected.
    var camera: V4L2Identity?
    var others: Set<String> = []
    var reference: Size?
  }

  /// Opens nothing yet.
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
