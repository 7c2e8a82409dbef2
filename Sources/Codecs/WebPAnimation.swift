// Writes animated WebP. libwebp encodes each picture, and this code writes the container (RFC 9649).
internal import CWebP

/// The error of making a WebP animation.
public struct WebPError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A kind of error.
  public enum Kind: Sendable, Hashable {
    /// libwebp is not installed.
    case unavailable
    /// There are more pictures, pixels or bytes than an animation can have.
    case tooLarge
    /// A picture can't be encoded.
    case failed
  }

  /// The kind of the error.
  public let kind: Kind
  /// The reason and a remedy, in one line.
  public let description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}

/// An animation that repeats forever. All pictures have one size.
package struct WebPAnimation: Sendable {
  /// The largest size of the file, in bytes.
  static let mostBytes = 32_000_000
  /// The longest side (RFC 9649, 2.7.1 has 24 bits; VP8 has 14).
  private static let longestSide = 16_383

  private let size: Size
  /// The file so far; its header is completed at the end.
  private var file: [UInt8]
  private var hasAlpha = false
  /// The offset of the last picture's duration.
  private var lastDuration: Int?

  package init(_ size: Size) {
    self.size = size
    // The length is set at the end.
    file = "RIFF".utf8 + [0, 0, 0, 0] + "WEBP".utf8
    var extended: [UInt8] = [0, 0, 0, 0]
    extended.append(bytes: size.width - 1, of: 3)
    extended.append(bytes: size.height - 1, of: 3)
    file.append(chunk: "VP8X", extended)
    // A black background, and endless repetition.
    file.append(chunk: "ANIM", [0, 0, 0, 255, 0, 0])
  }

  /// The bytes so far.
  package var byteCount: Int { file.count }

  /// Returns the most bytes of memory that `encoded` takes: the amount measured with libwebp 1.2 for noise at
  /// quality 100 (16 bytes a pixel at 75), and the copy of the file.
  package static func workingBytes(_ size: Size) -> Int { 32 * size.pixelCount }

  /// Loads libwebp.
  ///
  /// - Throws: `WebPError` `.unavailable` if libwebp is not installed.
  package static func load() throws(WebPError) {
    if let reason = unsafe glp_webp_failure() {
      throw WebPError(.unavailable, unsafe String(cString: reason))
    }
  }

  var isEmpty: Bool { lastDuration == nil }

  /// Appends a picture that `encoded` returned, shown until the next one. The previous picture is shown for
  /// `gap`.
  package mutating func append(_ picture: [UInt8], after gap: Duration) throws(WebPError) {
    setDuration(gap)
    var frame: [UInt8] = []
    // At the top left corner.
    frame.append(bytes: 0, of: 6)
    frame.append(bytes: size.width - 1, of: 3)
    frame.append(bytes: size.height - 1, of: 3)
    frame.append(bytes: 0, of: 3)
    // It replaces the previous picture, without blending.
    frame.append(0b10)
    for (name, chunk) in Self.chunks(of: picture) where ["ALPH", "VP8 ", "VP8L"].contains(name) {
      hasAlpha = hasAlpha || name != "VP8 "
      frame += chunk
    }
    lastDuration = file.count + 8 + 12
    file.append(chunk: "ANMF", frame)
    guard file.count <= Self.mostBytes else {
      throw WebPError(
        .tooLarge,
        "the animation would have more than \(Self.mostBytes / 1_000_000) MB: lower its width, rate or quality"
      )
    }
  }

  /// Returns the whole file. The last picture is shown for `lastDuration`.
  package mutating func finish(lastDuration: Duration) -> [UInt8] {
    setDuration(lastDuration)
    put(bytes: file.count - 8, of: 4, at: 4)
    // The flags: an animation, with alpha or without.
    file[20] = hasAlpha ? 0x12 : 0x02
    return file
  }

  private mutating func setDuration(_ duration: Duration) {
    guard let place = lastDuration else { return }
    let milliseconds = min(max(Int((duration / .milliseconds(1)).rounded()), 1), 1 << 24 - 1)
    put(bytes: milliseconds, of: 3, at: place)
  }

  private mutating func put(bytes number: Int, of count: Int, at place: Int) {
    for index in 0..<count { file[place + index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
  }

  /// Encodes a picture of `.rgba` as a file of its own; `quality` is 1...100.
  package static func encoded(_ picture: Picture, quality: Int) throws(WebPError) -> [UInt8] {
    try load()
    let size = picture.size
    guard picture.format == .rgba, let plane = picture.planes.first,
      (1...longestSide).contains(size.width), (1...longestSide).contains(size.height),
      plane.bytesPerRow >= 4 * size.width,
      plane.offset + plane.bytesPerRow * (size.height - 1) + 4 * size.width <= picture.bytes.count
    else {
      throw WebPError(
        .failed, "\(size) of \(picture.format) can't be a picture of an animation")
    }
    var (bytes, count): (UnsafeMutablePointer<UInt8>?, Int) = (nil, 0)
    let isDone = unsafe picture.bytes.withUnsafeBufferPointer { samples in
      unsafe glp_webp_encode(
        samples.baseAddress.map { unsafe $0 + plane.offset }, CInt(size.width), CInt(size.height),
        CInt(plane.bytesPerRow), Float(quality), &bytes, &count)
    }
    defer { unsafe glp_webp_free(bytes) }
    guard isDone else { throw WebPError(.failed, "libwebp can't encode a picture of \(size)") }
    return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
  }

  /// Returns the chunks of a file, each with its header and padding.
  static func chunks(of file: [UInt8]) -> [(name: String, bytes: ArraySlice<UInt8>)] {
    var (chunks, rest): ([(String, ArraySlice<UInt8>)], ArraySlice<UInt8>) = ([], file.dropFirst(12))
    while rest.count >= 8 {
      let length = rest.dropFirst(4).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
      let chunk = rest.prefix(8 + length + length % 2)
      chunks.append((String(decoding: chunk.prefix(4), as: UTF8.self), chunk))
      rest = rest.dropFirst(chunk.count)
    }
    return chunks
  }
}

extension [UInt8] {
  /// Appends the lowest `count` bytes of a number, the lowest first.
  fileprivate mutating func append(bytes number: Int, of count: Int) {
    for index in 0..<count { append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
  }

  fileprivate mutating func append(chunk name: String, _ content: [UInt8]) {
    self += name.utf8
    append(bytes: content.count, of: 4)
    self += content
    if !content.count.isMultiple(of: 2) { append(0) }
  }
}
