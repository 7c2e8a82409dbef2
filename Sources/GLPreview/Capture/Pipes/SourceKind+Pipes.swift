// Commands, standard input and paths as kinds of source. Whether a pipe or a file is at a path is known when it is opened.

extension SourceKind {
  /// `exec:COMMAND`
  static let childCommand = SourceKind(schemes: ["exec"], origin: .command, fileStem: { _ in "exec" }) {
    .device(try CommandDevice($0, $1))
  }

  /// `-`
  static let standardInput = SourceKind(
    origin: .device, isNamed: { $0 == "-" }, isLive: PipeDevice.isStream, fileStem: { _ in "stdin" },
    open: openPath)

  /// Any other name.
  static let path = SourceKind(
    origin: .path, isNamed: { _ in true }, isLive: PipeDevice.isStream, open: openPath)

  /// Pipes are live, unless all frames are wanted.
  @Sendable private static func openPath(_ path: String, _ options: SourceOptions) async throws -> Opened {
    guard options.live.delivery == .newest, PipeDevice.isStream(at: path) else {
      return .source(try await SourceOpener(ByteStream(opening: path), options).open())
    }
    return .device(PipeDevice(path, options))
  }
}
