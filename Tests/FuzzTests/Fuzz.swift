// The program that `make fuzz` runs: libFuzzer around one target, chosen by name. libFuzzer's own main is left out, so
// that this one can also write what the targets begin with.
import Dispatch
import Foundation
import Glibc

/// libFuzzer's entry (FuzzerInterface of LLVM): never returns where it ends by itself.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The target of this process.
nonisolated(unsafe) private var chosen: FuzzTarget?

@main
private struct Fuzz {
  static func main() throws {
    let arguments = CommandLine.arguments
    switch arguments.dropFirst().first {
    case "--list": for target in FuzzTarget.all { print(target.name) }
    case "--prepare" where arguments.count == 3: try prepare(URL(filePath: arguments[2]))
    case let name?:
      guard let target = FuzzTarget.all.first(where: { $0.name == name }) else { fallthrough }
      exit(run(target, [arguments[0], "-max_len=\(target.longest)"] + arguments.dropFirst(2)))
    default:
      print("usage: glpreview-fuzz --list | --prepare FOLDER | TARGET [libFuzzer's arguments]")
      exit(64)
    }
  }

  /// Leaves `TARGET/seeds/*` and `TARGET/words` in a folder.
  private static func prepare(_ folder: URL) throws {
    for target in FuzzTarget.all {
      let seeds = folder.appending(path: "\(target.name)/seeds")
      try FileManager.default.createDirectory(at: seeds, withIntermediateDirectories: true)
      for (index, seed) in try target.seeds().enumerated() {
        try Data(seed).write(to: seeds.appending(path: "\(index)"))
      }
      let words = target.words.map { word in
        // A scalar is a byte.
        "\"" + word.unicodeScalars.map { String(format: "\\x%02X", $0.value & 0xFF) }.joined() + "\"\n"
      }
      try Data(words.joined().utf8).write(to: folder.appending(path: "\(target.name)/words"))
    }
  }

  private static func run(_ target: FuzzTarget, _ arguments: [String]) -> CInt {
    unsafe chosen = target
    var count = CInt(arguments.count)
    let texts = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(
      capacity: arguments.count + 1)
    for (index, argument) in arguments.enumerated() { unsafe texts[index] = strdup(argument) }
    unsafe texts[arguments.count] = nil
    var start = unsafe texts
    return unsafe runFuzzer(&count, &start) { bytes, count in
      let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
      if let fault = unsafe chosen.flatMap({ Fuzz.fault(of: $0, on: input) }) {
        FileHandle.standardError.write(Data("promise broken: \(fault)\n".utf8))
        abort()
      }
      return 0
    }
  }

  /// What `input` breaks; nil where all is well.
  private static func fault(of target: FuzzTarget, on input: [UInt8]) -> FuzzFault? {
    switch target.body {
    case .atOnce(let body):
      do throws(FuzzFault) { try body(input) } catch { return error }
      return nil
    case .waiting(let body):
      let done = DispatchSemaphore(value: 0)
      nonisolated(unsafe) var fault: FuzzFault?
      Task.detached {
        do throws(FuzzFault) { try await body(input) } catch { unsafe fault = error }
        done.signal()
      }
      done.wait()
      return unsafe fault
    }
  }
}
