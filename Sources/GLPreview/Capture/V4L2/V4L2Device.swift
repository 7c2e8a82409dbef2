// The way to a camera: a node's path the first time, and after that the camera that was there, whatever its node.
internal import Glibc
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
  private let known = Mutex<V4L2Identity?>(nil)

  /// Touches nothing.
  init(_ text: String, _ options: SourceOptions) throws(SourceError) {
    name = text
    locator = try V4L2Locator(text)
    self.options = options
    memory = options.memory ?? FramePool()
  }

  func connect() async throws -> any CaptureConnection {
    let identity = known.withLock { $0 }
    let connection = V4L2Connection(name: name, locator.wishes, options, memory)
    let found = try await connection.open(locator.path, knownAs: identity)
    known.withLock { if let found { $0 = found } }
    return connection
  }
}

/// Lists cameras.
public enum V4L2Camera {
  /// All cameras of this machine that can be opened, by their numbers; what they can deliver and what can be set.
  ///
  /// Each is opened for a moment; one that streams elsewhere goes on. Nodes that give no pictures are left out.
  public static func all() async -> [CameraDescription] {
    await V4L2Lister().all()
  }
}

/// Lists cameras on a thread of its own: drivers may take their time.
private actor V4L2Lister {
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
  private let queue = ReadingQueue(named: "cameras")

  func all() -> [CameraDescription] {
    V4L2Nodes.all().compactMap { path in
      guard let node = try? V4L2Node(opening: path), node.capability.captures else { return nil }
      let readable = node.formats()
      var formats = readable
      if !readable.contains(where: \.isReadable),
        let converting = try? V4L2Node(opening: path, converts: true)
      {
        formats += converting.formats { V4L2Reading($0) != nil }.filter { $0.isEmulated && $0.isReadable }
      }
      return CameraDescription(
        node: path, stablePath: V4L2Nodes.stablePath(of: path), name: node.capability.card,
        bus: node.capability.bus, driver: node.capability.driver, formats: formats, controls: node.controls())
    }
  }
}
