// From layers to what is to be drawn of each. Pure: no pixel is touched here.

extension RenderPlanner {
  /// A plan for several frames in one picture.
  ///
  /// - Parameters:
  ///   - formats: of the frames that the composition's views are of, by their `input`; nil where there is none.
  ///   - composition: what is to be seen.
  ///   - name: of the picture.
  ///   - format: how the picture's samples are wanted.
  /// - Throws: `ViewError`, which names the layer (counted from 0) that can't be drawn, or the size that is too large.
  public func plan(
    _ formats: [FrameFormat?], _ composition: Composition, name: String = "scene", as format: PictureFormat
  ) throws(ViewError) -> ScenePlan {
    throw ViewError("scene", "not yet")
  }
}
