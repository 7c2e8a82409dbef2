// One part of a multipart stream: its header, and the end of its JPEG.

/// The header of a part.
struct PartHeader {
  var contentType: String?
  var contentLength: Int?
  var timestamp: Double?
  var byteCount = 0

  mutating func add(_ line: ArraySlice<UInt8>, byteCount count: Int) {
    byteCount += count
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
    let name = String(decoding: line[..<colon], as: UTF8.self).trimmed.lowercased()
    let value = String(decoding: line[(colon + 1)...], as: UTF8.self).trimmed
    switch name {
    case "content-type": contentType = String(value.prefix { $0 != ";" }.prefix(60)).trimmed
    case "content-length": contentLength = Int(value).flatMap { $0 > 0 ? $0 : nil }
    case "x-timestamp": timestamp = Double(value)
    default: break
    }
  }
}

/// Finds the end of a JPEG that arrives in pieces.
struct JPEGWalk {
  private var splitter = MJPEGSplitter(pictureLimit: .max)
  private var walked = 0

  /// The length of the JPEG at the start of `bytes`; nil if it does not end within them.
  mutating func end(in bytes: ArraySlice<UInt8>) -> Int? {
    guard walked < bytes.count else { return nil }
    guard let (count, picture) = try? splitter.take(bytes.dropFirst(walked)) else { return nil }
    walked += count
    // A JPEG without an end of its own ends at the next one's SOI.
    return picture == nil ? nil : walked - splitter.partialPicture.count
  }
}

extension StringProtocol {
  /// Without spaces and tabs at both ends.
  var trimmed: String {
    var text = self[...]
    while let first = text.first, first == " " || first == "\t" { text = text.dropFirst() }
    while let last = text.last, last == " " || last == "\t" { text = text.dropLast() }
    return String(text)
  }
}
