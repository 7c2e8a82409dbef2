// Cameras of this machine as a source kind.

extension SourceKind {
  /// `/dev/video0`, `/dev/v4l/by-id/...`
  package static let v4l2Camera = SourceKind(
    origin: .device, takesMode: true, hasSizes: true, isNamed: V4L2Camera.isNamed
  ) { .device(try V4L2Device($0, $1)) }
}
