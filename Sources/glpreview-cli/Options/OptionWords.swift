// The library's words as words of the command line.
public import ArgumentParser
public import GLPreview
package import GLPreviewServer

extension ChromaSubsampling: ExpressibleByArgument {}
extension LogFormat: ExpressibleByArgument {}
extension LogLevel: ExpressibleByArgument {}
extension RedirectPolicy: ExpressibleByArgument {}

/// What `--format` says, or the end of an output's name.
enum OutputFormat: Sendable, Hashable, CustomStringConvertible {
  case picture(EncodedFormat)
  case video(VideoFormat)

  init?(fileName: String) {
    if let format = EncodedFormat(fileName: fileName) {
      self = .picture(format)
    } else if let format = VideoFormat(fileName: fileName) {
      self = .video(format)
    } else {
      return nil
    }
  }

  /// As it is typed.
  var description: String {
    switch self {
    case .picture(let format): format.rawValue
    case .video(let format): format.rawValue
    }
  }
}

extension OutputFormat: ExpressibleByArgument {
  /// Reads the words of `--format`.
  init?(argument: String) {
    if let format = EncodedFormat(rawValue: argument) {
      self = .picture(format)
    } else if let format = VideoFormat(rawValue: argument) {
      self = .video(format)
    } else {
      return nil
    }
  }

  /// For `--help`.
  static var allValueStrings: [String] {
    EncodedFormat.allCases.map(\.rawValue) + VideoFormat.allCases.map(\.rawValue)
  }
}

extension GPUChoice: ExpressibleByArgument {
  /// Reads the words of `--gpu`.
  public init?(argument: String) { self.init(argument) }
}
