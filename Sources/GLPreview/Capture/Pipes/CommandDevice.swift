// A command's output as a live source.

/// `exec:COMMAND`: the command is run again when it ends, unless `givesUpAfter` is zero.
struct CommandDevice: CaptureDevice {
  let name: String
  private let command: String
  private let options: SourceOptions

  init(_ name: String, _ options: SourceOptions) throws(SourceError) {
    self.options = options
    command = String(name.dropFirst("exec:".count))
    self.name = Redaction.source(name)
    guard !command.allSatisfy(\.isWhitespace), !command.utf8.contains(0) else {
      throw SourceError(.badRequest, path: self.name, reason: "exec: needs a command")
    }
  }

  func connect() throws -> any CaptureConnection {
    let (child, output) = try ChildCommand.start(command, named: name)
    let stream = try ByteStream(owning: output, path: name)
    return PipeConnection(
      stream, options, isOverAtEnd: options.live.givesUpAfter == .zero, command: child)
  }
}
