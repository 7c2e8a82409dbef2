// A picture that a pipeline delivers: encoded, or the samples of a view.

/// A picture of one view of a frame.
public struct PipelinePicture: Sendable {
  /// The forms of a picture.
  public enum Content: Sendable {
    /// The samples, if the pipeline has no encoder.
    case samples(Picture)
    /// The encoded picture.
    case file(EncodedPicture)
  }

  /// The view's name.
  public let view: String
  /// The frame's number among all of its source, from 0. Loops and skipped frames count.
  public let frame: Int
  /// When the frame was captured, by `CaptureClock`, if its source is live; otherwise the time since the
  /// source's start.
  public let timestamp: CaptureInstant
  /// The samples or the file.
  public let content: Content
  /// The decoding scale in eighths: 8 is full size.
  package var decodedEighths = 8
  /// The GPU time of the passes of the frame's views, if it was measured.
  package var gpuTime: Duration?
  /// The renderer's name, for reports.
  package var renderer = ""
  /// Whether the frame has no further pictures.
  package var isLast = true
  /// The picture's reservation in a memory budget, which it may share with other pictures.
  var lease: MemoryLease?

  /// The encoded picture; nil for samples.
  public var file: EncodedPicture? {
    if case .file(let file) = content { file } else { nil }
  }

  /// The picture's size, in pixels.
  public var size: Size {
    switch content {
    case .samples(let picture): picture.size
    case .file(let file): file.size
    }
  }

  /// Encodes `picture`; without an encoder, the content is its samples. A capture time is written as EXIF.
  ///
  /// - Throws: `RenderPipeline.Failure` if it can't be encoded.
  package init(
    _ picture: Picture, of view: String, frame: Int, at timestamp: CaptureInstant,
    encoder: PictureEncoder?, iccProfile: [UInt8]? = nil, capturedAt time: WallTime? = nil
  ) throws(RenderPipeline.Failure) {
    (self.view, self.frame, self.timestamp) = (view, frame, timestamp)
    guard let encoder else {
      content = .samples(picture)
      return
    }
    do throws(PictureEncoder.Failure) {
      content = .file(try encoder.encode(picture, iccProfile: iccProfile, capturedAt: time))
    } catch {
      throw RenderPipeline.Failure(view: view, frame: frame, reason: error)
    }
  }
}

extension RenderPipeline {
  /// The error for a picture that can't be encoded.
  public struct Failure: Error, CustomStringConvertible {
    /// The view's name.
    public let view: String
    /// The frame's number.
    public let frame: Int
    /// Why the picture can't be encoded.
    public let reason: PictureEncoder.Failure
    /// The name of the picture's file, for messages; nil if it has none.
    package var name: String?

    /// The picture and the reason.
    public var description: String { "\(name ?? "view '\(view)'"): \(reason)" }
  }
}
