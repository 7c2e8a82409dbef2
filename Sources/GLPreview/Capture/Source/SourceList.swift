// A list of sources in a text file, for more of them than fit on a command line.

/// Reads lists of sources.
package enum SourceList {
  private static let mostBytes = 64 << 20

  /// The lines of the file at `path`, or of standard input for `-`, without empty ones. They may end as on Windows.
  ///
  /// - Throws: `SourceError` if it can't be read or has no lines.
  package static func read(_ path: String) throws -> [String] {
    var stream = try ByteStream(opening: path)
    guard let bytes = try stream.readAll(limit: mostBytes) else {
      throw SourceError(.badData, path: path, reason: "is larger than \(mostBytes >> 20) MiB")
    }
    let lines = bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      let path = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      return path.isEmpty ? nil : String(decoding: path, as: UTF8.self)
    }
    guard !lines.isEmpty else { throw SourceError(.notFound, path: path, reason: "is a list of no files") }
    return lines
  }
}
