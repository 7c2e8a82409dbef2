// The render tuning of a device. This is the only place that decides it.
package import PreviewCore

extension GPUDevice {
  /// The recommended tuning for the device.
  ///
  /// Measured on Mesa 22.3's llvmpipe, 1920x1080 to 640x360: sixteen bytes at a time from a buffer take 0.4 of the
  /// time of four at a time from a texture, and the buffer is cheaper to fill. Hardware has texture units.
  ///
  /// Hardware gets three frames in flight: one uploads, one draws, one downloads. Software does all of that on the
  /// same cores, and llvmpipe's timer queries only cover the last target.
  package var tuning: RenderTuning {
    RenderTuning(
      maximumTargetSide: driver?.maximumTextureSize ?? 2048,
      boxes: isSoftware && (driver?.version ?? GLVersion(3, 0)) >= GLVersion(3, 2) ? .words : .texels,
      transfer: isSoftware ? .direct : .buffered(framesInFlight: 3), timesPasses: !isSoftware)
  }
}
