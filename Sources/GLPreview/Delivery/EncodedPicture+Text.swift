// Text forms of an encoded picture, for JSON or a web page.

extension EncodedPicture {
  /// The file in base64.
  public var base64: String { String(decoding: Base64.encoded(bytes), as: UTF8.self) }

  /// The file as a data URL: `data:image/jpeg;base64,...`.
  public var dataURL: String { "data:\(mediaType);base64,\(base64)" }

  /// `image/jpeg`, or `image/png`.
  public var mediaType: String { bytes.starts(with: [0xFF, 0xD8]) ? "image/jpeg" : "image/png" }
}
