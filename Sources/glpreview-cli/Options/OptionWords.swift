// Parses the library's values as command line arguments.
public import ArgumentParser
public import GLPreview
package import GLPreviewServer
public import Logging

extension ChromaSubsampling: ExpressibleByArgument {}
extension LogFormat: ExpressibleByArgument {}
extension Logger.Level: @retroactive ExpressibleByArgument {}
extension RedirectPolicy: ExpressibleByArgument {}

/// The value of `--format`, or the extension of an output's name.
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

  /// The text on the command line.
  var description: String {
    switch self {
    case .picture(let format): format.rawValue
    case .video(let format): format.rawValue
    }
  }
}

extension OutputFormat: ExpressibleByArgument {
  /// Parses `--format`.
  init?(argument: String) {
    if let format = EncodedFormat(rawValue: argument) {
      self = .picture(format)
    } else if let format = VideoFormat(rawValue: argument) {
      self = .video(format)
    } else {
      return nil
    }
  }

  /// The values listed in `--help`.
  static var allValueStrings: [String] {
    EncodedFormat.allCases.map(\.rawValue) + VideoFormat.allCases.map(\.rawValue)
  }
}

extension GPUChoice: ExpressibleByArgument {
  /// Parses `--gpu`.
  public init?(argument: String) { self.init(argument) }
}
