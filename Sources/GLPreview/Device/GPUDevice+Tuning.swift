// What a device does best: the one place where that is decided.
public import PreviewCore

extension GPUDevice {
  /// How to render on it.
  ///
  /// Measured on Mesa 22.3's llvmpipe, 1920x1080 to 640x360: sixteen bytes at a time from a buffer take 0.4 of what four at a
  /// time from a texture take, and the buffer is cheaper to fill. Hardware has units for textures.
  ///
  /// Of three frames on hardware one goes up, one is drawn and one comes back. Software does all that on the same cores, and
  /// its timer queries (llvmpipe's) tell of the last target alone.
  public var tuning: RenderTuning {
    RenderTuning(
      maximumTargetSide: driver?.maximumTextureSize ?? 2048,
      boxes: isSoftware && (driver?.version ?? GLVersion(3, 0)) >= GLVersion(3, 2) ? .words : .texels,
      transfer: isSoftware ? .direct : .buffered(framesInFlight: 3), timesPasses: !isSoftware)
  }
}
