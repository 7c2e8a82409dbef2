// The encoded pictures of a preview, as an asynchronous sequence.

/// The encoded pictures of a preview, one after another.
///
/// ```swift
/// var mp4 = FragmentedMP4()
/// for try await sample in preview.video(VideoConfiguration(bitrate: 800_000)) { send(mp4.append(sample)) }
/// ```
public struct VideoSequence: AsyncSequence, Sendable {
  private let preview: Preview
  private let configuration: VideoConfiguration
  private let times: VideoTimes
  private let encoder: @Sendable () -> VideoEncoder

  init(_ preview: Preview, _ configuration: VideoConfiguration) {
    self.init(preview, configuration, VideoTimes()) {
      VideoEncoder(configuration, within: preview.producer.budget)
    }
  }

  init(
    _ preview: Preview, _ configuration: VideoConfiguration, _ times: VideoTimes,
    _ encoder: @escaping @Sendable () -> VideoEncoder
  ) {
    self.preview = preview
    self.configuration = configuration
    self.times = times
    self.encoder = encoder
  }

  /// Creates an iterator. It is a watcher of its own from its first call of `next` on.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Waits for samples.
  public struct Iterator: AsyncIteratorProtocol {
    private let sequence: VideoSequence
    private var watch: VideoWatch?
    private var isOver = false

    init(_ sequence: VideoSequence) { self.sequence = sequence }

    /// Waits for the next sample; nil at the end. The first sample is a keyframe, as is the first one after
    /// lost samples.
    public mutating func next() async throws -> VideoSample? {
      guard !isOver else { return nil }
      let watch =
        watch
        ?? sequence.preview.videos.watch(
          sequence.preview, sequence.configuration, sequence.times, passes: true, sequence.encoder)
      // It is over unless a sample comes.
      (self.watch, isOver) = (nil, true)
      guard let sample = try await watch.next() else { return nil }
      (self.watch, isOver) = (watch, false)
      return sample
    }
  }
}
