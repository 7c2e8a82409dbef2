// Draws frames that come from none of a session's sources, such as recorded pictures.

extension PreviewSession {
  /// Draws views of a frame that comes from none of the session's sources.
  ///
  /// - Parameters:
  ///   - frame: the frame; crops are in its upright pixels.
  ///   - views: the views to draw.
  ///   - format: the sample format of their pictures.
  ///   - time: when the frame was captured; labels and EXIF show it.
  ///   - coding: how the pictures will be coded, if that is known.
  /// - Returns: a picture for each view, in order.
  /// - Throws: `ParameterError` if a view can't be drawn; `DeviceError`, `RenderError`,
  ///   `MemoryBudget.Exceeded`.
  package func draw(
    _ frame: Frame, _ views: [ViewConfiguration], as format: Picture.Format, at time: CaptureInstant,
    coding: PictureCoding? = nil
  ) async throws -> [RenderedPicture] {
    let drawing = core.drawing
    let frame = frame.with(timestamp: time)
    let requests = views.map { (ViewRequest($0, as: format, coding: coding), GPUTime()) }
    let pictures = try await drawing.draw(frame, requests, drawing.plans(for: frame.format.uprightSize))
    return zip(views, pictures).map { view, picture in
      RenderedPicture(
        name: view.name, picture: picture, PictureKey(sequence: frame.sequence), timestamp: time,
        iccProfile: frame.iccProfile, decodedEighths: frame.format.eighths, onEncode: drawing.onEncode)
    }
  }

  /// Draws one picture of several frames that come from none of the session's sources.
  ///
  /// - Parameters:
  ///   - composition: the layers; the `input` of their contents is an index into `frames`. Crops are in
  ///     upright pixels of the frames.
  ///   - frames: the frames.
  ///   - format: the sample format of the picture.
  ///   - name: the name of the picture.
  ///   - time: when the frames were captured; EXIF shows it.
  ///   - coding: how the picture will be coded, if that is known.
  /// - Returns: the picture.
  /// - Throws: `ParameterError` if a layer can't be drawn, or the picture is too large; `DeviceError`,
  ///   `RenderError`, `MemoryBudget.Exceeded`.
  package func draw(
    _ composition: Composition, of frames: [Frame], as format: Picture.Format, named name: String,
    at time: CaptureInstant, coding: PictureCoding? = nil
  ) async throws -> RenderedPicture {
    let drawing = core.drawing
    let scene = ComposedScene(composition: composition, inputs: [])
    let picture = try await drawing.draw(
      scene, frames, as: PictureForm(format, coding: coding), named: name, counting: GPUTime())
    return RenderedPicture(
      name: name, picture: picture, PictureKey(sequence: 0), timestamp: time, onEncode: drawing.onEncode)
  }
}

extension Preview {
  /// The upright size in whose pixels its source's masks and its crop are given; nil for a scene, and while
  /// it is not known.
  package var reference: Size? { (producer as? SourceFeed)?.drawing.reference }

  /// The upright size of its source's last frame; nil for a scene, and before the first. It may differ from
  /// `reference` where a camera is in another mode, or a stream has changed.
  package var frameSize: Size? { (producer as? SourceFeed)?.drawing.plans.latestSize }
}
