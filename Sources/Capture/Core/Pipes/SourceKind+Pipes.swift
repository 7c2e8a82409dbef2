// Commands, standard input and paths as source kinds. Whether a path names a pipe or a file is determined
// when it is opened.

extension SourceKind {
  /// `exec:COMMAND`
  package static let childCommand = SourceKind(schemes: ["exec"], origin: .command, fileStem: { _ in "exec" })
  {
    .device(try CommandDevice($0, $1))
  }

  /// `-`, standard input.
  package static func standardInput(openVideo: SourceOpener.OpenVideo?) -> SourceKind {
    SourceKind(
      origin: .device, isNamed: { $0 == "-" }, isLive: PipeDevice.isStream, fileStem: { _ in "stdin" }
    ) { try await openPath($0, $1, openVideo) }
  }

  /// Any other name, taken as a path. Without `openVideo`, videos are refused.
  package static func path(openVideo: SourceOpener.OpenVideo?) -> SourceKind {
    SourceKind(origin: .path, isNamed: { _ in true }, isLive: PipeDevice.isStream) {
      try await openPath($0, $1, openVideo)
    }
  }

  /// Opens a pipe as a live source, unless every frame is to be delivered.
  private static func openPath(
    _ path: String, _ options: SourceOptions, _ openVideo: SourceOpener.OpenVideo?
  ) async throws -> Opened {
    guard options.live.delivery == .newest, PipeDevice.isStream(at: path) else {
      let opener = SourceOpener(try ByteStream(opening: path), options, openVideo: openVideo)
      return .source(try await opener.open())
    }
    return .device(PipeDevice(path, options))
  }
}
