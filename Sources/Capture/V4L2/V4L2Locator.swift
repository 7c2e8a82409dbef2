// Parses a camera's name as entered: a path, and the required mode.

/// `/dev/video0[,format=YUYV][,size=1280x720][,fps=30]`, `/dev/v4l/by-id/...`
struct V4L2Locator: Sendable, Hashable {
  let path: String
  let preferences: V4L2Preferences

  init(_ text: String) throws(SourceError) {
    // udev's links may have commas in their names, so the keys begin at the first part with a `=`.
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let first = parts.dropFirst().firstIndex { $0.contains("=") || $0.isEmpty } ?? parts.count
    path = parts[..<first].joined(separator: ",")
    var preferences = V4L2Preferences()
    func bad(_ reason: String) -> SourceError { SourceError(.badRequest, path: text, reason: reason) }
    for part in parts[first...] {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2 else { throw bad("'\(part)' is not KEY=VALUE: format, size or fps") }
      let (key, value) = (pair[0].lowercased(), String(pair[1]))
      switch key {
      case "format":
        guard !value.isEmpty else { throw bad("format= needs a name: YUYV, NV12, MJPG, ...") }
        preferences.format = value
      case "size":
        do { preferences.size = try ParameterParser.size(key, value.lowercased()) } catch {
          throw bad(error.description)
        }
      case "fps":
        guard let rate = Double(value), FrameRate(rate) != nil else {
          throw bad("fps=\(value) is not a number within 0.001...1000")
        }
        preferences.framesPerSecond = rate
      default: throw bad("unknown key '\(pair[0])' (known: format, size, fps)")
      }
    }
    self.preferences = preferences
  }
}

/// The mode that the user requires. Nil leaves a value to the selection.
struct V4L2Preferences: Sendable, Hashable {
  /// A FourCC, or one of GLPreview's format names.
  var format: String?
  var size: Size?
  var framesPerSecond: Double?

  func allow(_ format: V4L2Camera.Format) -> Bool {
    guard let name = self.format?.lowercased() else { return true }
    return format.fourCC.lowercased() == name || format.reading?.isCalled(name) == true
  }
}
