// Reads boxes of MP4 (ISO/IEC 14496-12, 4.2), of lengths of 32 bits.

/// A box of MP4.
struct MP4Box {
  struct Head {
    let length: Int
    let type: String

    /// The first eight bytes of a box.
    init(_ bytes: ArraySlice<UInt8>) {
      length = Int(bytes.bigEndian(at: 0))
      type = String(decoding: bytes.dropFirst(4).prefix(4), as: UTF8.self)
    }
  }

  let type: String
  let content: ArraySlice<UInt8>

  /// The boxes one after another; what is cut short is left out.
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

  /// The content of the first box at a path.
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
  /// Four bytes at an offset; what is missing counts as zeros.
  func bigEndian(at offset: Int) -> UInt32 {
    let bytes = dropFirst(offset).prefix(4)
    return bytes.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (4 - bytes.count))
  }
}
