// The command `glpreview`: its name, its version and its subcommands.
import ArgumentParser
import GLPreview
import GLPreviewServer
import Glibc

/// Runs the command with the process's arguments, and ends the process.
@MainActor package func runCommand() async { await GLPreviewCommand.main() }

struct GLPreviewCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "glpreview",
    abstract: "Previews and snapshots of camera frames, rendered on the GPU without a display.",
    discussion: """
      Crops, rotates, mirrors and scales pictures on the GPU (OpenGL ES on EGL, no window system) \
      into any number of views at once.

      Exit status: 0 done, 64 wrong usage, 65 bad input data, 66 no such input, 69 no usable device, \
      74 write failed, 130 interrupted.
      """,
    version: PreviewServer.version,
    subcommands: [
      RenderCommand.self, ServeCommand.self, DevicesCommand.self, VerifyCommand.self, BenchCommand.self,
      WorkCommand.self, SubmitCommand.self, SignCommand.self, LensCommand.self,
    ])

  /// Runs on the main thread, because the heap must be configured before there is another thread. Completes
  /// `--linear`, whose value may be omitted: ArgumentParser supports options either with or without a value.
  @MainActor static func main() async {
    ProcessHeap.useOne()
    ProcessHeap.protectConstants()
    StandardDescriptors.fillGaps()
    let arguments = CommandLine.arguments.dropFirst()
    let words: Set<String> = ["true", "false", "1", "0", "yes", "no", "on", "off"]
    let completed = zip(arguments, arguments.dropFirst() + [""]).map { argument, next in
      argument == "--linear" && !words.contains(next) ? "--linear=true" : argument
    }
    // The arguments have been read and stored above.
    ProcessArguments.hideSecrets()
    await run(completed)
  }

  /// Throws if the first argument is not a subcommand. ArgumentParser would call it unexpected, with all after it.
  private static func checkName(_ first: String?) throws {
    let names = configuration.subcommands.map { $0._commandName } + ["help"]
    guard let first, !first.hasPrefix("-"), !names.contains(first) else { return }
    let hint = names.nearest(to: first).map { "; did you mean '\($0)'?" } ?? ""
    throw UsageError(
      "unknown command '\(Redaction.source(first))'\(hint) (known: \(names.joined(separator: ", ")); see glpreview --help)"
    )
  }

  /// Runs like `main(_:)`, but ends the process without running the exit handlers of libraries. A driver's
  /// exit handler would destroy its shader compiler while another thread draws a frame with it.
  private static func run(_ arguments: [String]) async -> Never {
    var status = ExitCode.success
    do {
      try await ExitStatus.of { try checkName(arguments.first) }
      var command = try parseAsRoot(arguments)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      status = exitCode(for: error)
      let message = fullMessage(for: error)
      if !message.isEmpty { if status.isSuccess { print(message) } else { StandardError.print(message) } }
    }
    fflush(nil)
    _exit(status.rawValue)
  }
}
