// The pictures of a preview, each the newest one when it is requested.

/// The pictures of a preview, one after another.
public struct PreviewPictures: AsyncSequence, Sendable {
  private let preview: Preview
  private let format: Picture.Format

  package init(_ preview: Preview, as format: Picture.Format) {
    self.preview = preview
    self.format = format
  }

  /// Creates an iterator with its own pace.
  public func makeAsyncIterator() -> Iterator { Iterator(preview, format) }

  /// Requests pictures.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private let preview: Preview
    private var form: PictureForm
    private var reading: PreviewReading?
    private var last: PictureKey?
    private var pace = Pace()

    /// Makes `next` return the current picture, even if it was returned before.
    mutating func forget() { last = nil }

    init(_ preview: Preview, _ format: Picture.Format) {
      self.preview = preview
      form = PictureForm(format)
    }

    /// The JPEG that becomes of each further picture, if nothing else does; nil to take samples.
    package var coding: PictureCoding? {
      get { form.coding }
      set { form.coding = newValue }
    }

    /// Waits for the newest picture that this iterator has not returned yet, and returns it; nil at the end.
    public mutating func next() async throws -> RenderedPicture? {
      guard case .drawn(let picture) = try await nextPicture(passes: false) else { return nil }
      return picture
    }

    /// Does what `next` does. With `passes`, it returns a camera's own JPEG where the view shows exactly
    /// that.
    package mutating func nextPicture(passes: Bool) async throws -> PreviewPicture? {
      while true {
        try Task.checkCancellation()
        let current = preview.current
        guard !current.isRemoved else { return end() }
        guard current.configuration.isEnabled else {
          // A reader of a disabled preview does not keep the camera open.
          reading = nil
          await preview.waitForChange(from: current.configuration, until: nil)
          continue
        }
        if reading == nil { reading = PreviewReading(preview) }
        // A picture of another direction is replaced at once.
        let isPlaced =
          last?.pose == current.configuration.view?.projection?.pose
          || current.configuration.path.running(at: CaptureClock.now) != nil
        if let due = pace.due(every: current.configuration.updateEvery), due > CaptureClock.now,
          last?.version == current.version, isPlaced
        {
          await preview.waitForChange(from: current.configuration, until: due)
          continue
        }
        let next: PreviewPicture?
        do {
          next = try await preview.producer.next(preview, form, after: last, passes: passes)
        } catch is PreviewIsDisabled {
          continue
        }
        guard let picture = next else { return end() }
        // It may have been disabled while the picture was made.
        guard preview.isEnabled else { continue }
        last = picture.key
        reading?.setEager(
          picture.sourceState == .live && picture.video == nil && current.configuration.updateEvery == .zero)
        pace.took(at: CaptureClock.now, every: current.configuration.updateEvery)
        return picture
      }
    }

    private mutating func end() -> PreviewPicture? {
      reading = nil
      return nil
    }
  }
}
