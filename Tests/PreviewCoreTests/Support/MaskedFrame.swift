// Masks burnt into one frame, without the plan that sources keep for all frames of a format.
import PreviewCore

extension Frame {
  /// Without the samples that `masks` hide; they refer to `reference`, or to this frame's size.
  consuming func masked(by masks: [PrivacyMask], reference: Size? = nil) throws(ParameterError) -> Frame {
    let plan = try MaskPlan(masks, reference: reference ?? format.uprightSize, format: format)
    return masked(by: plan)
  }
}
