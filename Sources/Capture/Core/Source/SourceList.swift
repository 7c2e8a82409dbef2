// A list of sources in a text file, for more sources than fit on a command line.

/// Reads lists of sources.
package enum SourceList {
  private static let mostBytes = 64 << 20

  /// Returns the non-empty lines of the file at `path`, or of standard input for `-`. Lists written by
  /// Windows are accepted: with CRLF, with a byte order mark, or in UTF-16 with a byte order mark.
  ///
  /// - Throws: `SourceError` if the list can't be read or has no lines.
  package static func read(_ path: String) throws -> [String] {
    var stream = try ByteStream(opening: path)
    guard let bytes = try stream.readAll(limit: mostBytes) else {
      throw SourceError(.badData, path: path, reason: "is larger than \(mostBytes >> 20) MiB")
    }
    let lines = utf8(bytes).split(separator: UInt8(ascii: "\n")).compactMap { line in
      let path = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      return path.isEmpty ? nil : String(decoding: path, as: UTF8.self)
    }
    guard !lines.isEmpty else { throw SourceError(.notFound, path: path, reason: "lists no files") }
    return lines
  }

  /// Returns the bytes as UTF-8, without a byte order mark.
  private static func utf8(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    if bytes.starts(with: mark) { return bytes.dropFirst(mark.count) }
    let isBigEndian = bytes.starts(with: [0xFE, 0xFF])
    guard isBigEndian || bytes.starts(with: [0xFF, 0xFE]) else { return bytes[...] }
    let units = stride(from: 2, to: bytes.count - 1, by: 2).map { index in
      let (one, two) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
      return isBigEndian ? one << 8 | two : two << 8 | one
    }
    return Array(String(decoding: units, as: UTF16.self).utf8)[...]
  }
}
