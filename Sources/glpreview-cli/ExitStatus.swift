// What went wrong as the number that a shell sees (BSD's sysexits.h) and the line that a user reads.
import ArgumentParser
import GLPreview
import Glibc

/// Wrong usage that ArgumentParser can't see.
struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// A bound of `verify` was broken.
struct ConformanceFailure: Error {}

enum ExitStatus {
  static let usage: Int32 = 64
  static let badData: Int32 = 65
  static let noInput: Int32 = 66
  static let unavailable: Int32 = 69
  static let writeFailed: Int32 = 74

  /// The status of an error.
  static func status(of error: any Error) -> Int32 {
    switch error {
    case is UsageError, is ViewError, is FileNameError: usage
    case let error as SourceError:
      switch error.kind {
      case .badRequest: usage
      case .notFound, .unreadable: noInput
      case .badData: badData
      }
    case is EncodingError: badData
    case is DeviceError, is RenderError: unavailable
    case is WriteError: writeFailed
    case is CancellationError: Interruption.status
    case is ConformanceFailure: 1
    default: 1
    }
  }

  /// Runs a command's work; what it throws becomes a line on standard error and an exit status.
  static func of(_ work: () async throws -> Void) async throws {
    do {
      try await work()
    } catch let error as ExitCode {
      throw error
    } catch {
      switch error {
      case is CancellationError, is ConformanceFailure: break
      case let error as DeviceError: StandardError.print("glpreview: \(error.details)")
      default: StandardError.print("glpreview: \(error)")
      }
      throw ExitCode(status(of: error))
    }
  }
}

/// Lines beside the pictures.
enum StandardError {
  static let isTerminal = isatty(2) == 1

  /// Writes a line; where nobody reads, nothing is lost.
  static func print(_ line: String, terminator: String = "\n") {
    try? PictureFile.write(Array((line + terminator).utf8), to: 2, named: "standard error")
  }
}
