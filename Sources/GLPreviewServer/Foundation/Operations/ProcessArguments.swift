// The process's arguments, which `ps` shows to every user. Secrets in them are overwritten as soon as they
// have been read.
internal import FoundationEssentials

/// The arguments of this process, as the kernel shows them in `/proc/PID/cmdline`.
package enum ProcessArguments {
  /// Options whose whole values are secret.
  private static let secretOptions: Set<String> = ["--token", "--user", "--header"]

  /// Returns `arguments` with secrets replaced, as other users may see them.
  static func shown(_ arguments: [String]) -> [String] {
    zip([""] + arguments, arguments).map { previous, argument in
      if secretOptions.contains(previous) { return "***" }
      guard let equals = argument.firstIndex(of: "="),
        !argument[..<equals].contains(where: { ":/,?#".contains($0) })
      else { return Redaction.source(argument) }
      let (name, value) = (argument[..<equals], argument[argument.index(after: equals)...])
      return name + "=" + (secretOptions.contains(String(name)) ? "***" : Redaction.source(String(value)))
    }
  }

  /// Overwrites the secrets in this process's arguments. `CommandLine.arguments` must have been read before;
  /// it keeps its copy of them.
  ///
  /// Secrets are visible between the start of the process and this call, so prefer the environment or a file
  /// to `--token` and `--user`.
  package static func hideSecrets() {
    guard let place = unsafe place(),
      let bytes = FileManager.default.contents(atPath: "/proc/self/cmdline").map({ [UInt8]($0) }),
      bytes.count == place.count, unsafe bytes.elementsEqual(place)
    else { return }
    let arguments = bytes.split(separator: 0, omittingEmptySubsequences: false)
    let shown = shown(arguments.map { String(decoding: $0, as: UTF8.self) })
    for (argument, text) in zip(arguments, shown) where !argument.elementsEqual(text.utf8) {
      // The text must not be longer than before, because the next argument follows directly.
      let padded = Array(text.utf8.prefix(argument.count))
      for index in argument.indices {
        let offset = index - argument.startIndex
        unsafe place[index] = offset < padded.count ? padded[offset] : 0
      }
    }
  }

  /// Returns the memory from which the kernel reads the arguments (proc(5): `arg_start` and `arg_end` of
  /// `/proc/PID/stat`).
  @unsafe private static func place() -> UnsafeMutableBufferPointer<UInt8>? {
    guard let fields = ProcessMetrics.statistics(), fields.count > 46, let start = UInt(exactly: fields[45]),
      let end = UInt(exactly: fields[46]), start > 0, end > start
    else { return nil }
    return unsafe UnsafeMutableBufferPointer(
      start: UnsafeMutablePointer(bitPattern: start), count: Int(end - start))
  }
}
