// Reads MP4 boxes (ISO/IEC 14496-12, 4.2) with 32-bit lengths.

/// An MP4 box.
struct MP4Box {
  struct Head {
    let length: Int
    let type: String

    /// Parses the first eight bytes of a box.
    init(_ bytes: ArraySlice<UInt8>) {
      length = Int(bytes.bigEndian(at: 0))
      type = String(decoding: bytes.dropFirst(4).prefix(4), as: UTF8.self)
    }
  }

  let type: String
  let content: ArraySlice<UInt8>

  /// Returns consecutive boxes; a truncated one is left out.
  static func all(in bytes: ArraySlice<UInt8>) -> [MP4Box] {
    var (rest, boxes): (ArraySlice<UInt8>, [MP4Box]) = (bytes, [])
    while rest.count >= 8 {
      let head = Head(rest)
      guard head.length >= 8, head.length <= rest.count else { break }
      boxes.append(MP4Box(type: head.type, content: rest.prefix(head.length).dropFirst(8)))
      rest = rest.dropFirst(head.length)
    }
    return boxes
  }

  /// Returns the content of the first box at a path; nil if there is none.
  static func find(_ path: String, in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var content = bytes
    for type in path.split(separator: "/") {
      guard let box = all(in: content).first(where: { $0.type == type }) else { return nil }
      content = box.content
    }
    return content
  }
}

extension ArraySlice<UInt8> {
  /// Returns the number in four bytes at an offset; missing bytes count as zeros.
  func bigEndian(at offset: Int) -> UInt32 {
    let bytes = dropFirst(offset).prefix(4)
    return bytes.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (4 - bytes.count))
  }
}
