// Maps errors to exit statuses (BSD's sysexits.h) and error messages.
import ArgumentParser
import GLPreview
import GLPreviewServer
import Glibc
import NATS

/// A usage error that ArgumentParser can't detect.
struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description.brief }
}

/// The error of a batch with files that could not be rendered. Each of them has already been reported.
struct BatchError: Error, CustomStringConvertible {
  let description: String
  let status: Int32

  /// The exit status is 66 if no file could be read, otherwise 65.
  init(_ errors: [any Error], of count: Int) {
    description = "\(errors.count) of \(count) SOURCEs could not be rendered"
    let isMissing = errors.allSatisfy { ExitStatus.status(of: $0) == ExitStatus.noInput }
    status = isMissing ? ExitStatus.noInput : ExitStatus.badData
  }
}

extension BatchError {
  /// Creates the error of failed jobs. `areMissing` means that none of their sources could be read.
  init(failedJobs failed: Int, of count: Int, areMissing: Bool) {
    description = "\(failed) of \(count) jobs failed"
    status = areMissing ? ExitStatus.noInput : ExitStatus.badData
  }
}

enum ExitStatus {
  static let usage: Int32 = 64
  static let badData: Int32 = 65
  static let noInput: Int32 = 66
  static let unavailable: Int32 = 69
  static let writeFailed: Int32 = 74

  static func status(of error: any Error) -> Int32 {
    switch error {
    case is UsageError, is ParameterError, is SessionError, is ConfigurationError:
      usage
    case let error as SourceError:
      switch error.kind {
      case .badRequest: usage
      case .notFound, .unreadable: noInput
      case .badData: badData
      case .unavailable: unavailable
      }
    case is PictureEncoder.Failure, is RenderPipeline.Failure: badData
    case is DeviceError, is RenderError, is SoftwareRendererRefused, is ListenError, is VideoError:
      unavailable
    case NATSError.invalidConfiguration, NATSError.invalidName, NATSError.invalidSubject,
      JetStreamError.invalid:
      usage
    case is NATSError, is JetStreamError: unavailable
    case is WriteError: writeFailed
    case let error as BatchError: error.status
    case is CancellationError: Interruption.status
    default: 1
    }
  }

  /// Runs a command. An error is printed to standard error and becomes an exit status.
  static func of(_ work: () async throws -> Void) async throws {
    do {
      try await work()
    } catch let error as ExitCode {
      throw error
    } catch {
      switch error {
      case is CancellationError: break
      // The location comes first, as in compiler messages, so that editors can jump to it.
      case let error as ConfigurationError:
        for problem in error.problems { StandardError.print("\(problem)".onOneLine) }
      case let error as DeviceError: StandardError.print("glpreview: \(error.details)")
      default: StandardError.print("glpreview: \("\(error)".onOneLine)")
      }
      throw ExitCode(status(of: error))
    }
  }
}
