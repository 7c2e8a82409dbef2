// Decides whether a picture's ICC profile may be kept. Encoded pictures are R'G'B' or derived from it.

/// An ICC profile as bytes (ICC.1:2022, 7.2).
enum ICCProfile {
  /// The largest profile that is kept, in bytes; those of cameras and screens have a few kilobytes.
  static let limit = 4 << 20

  /// `profile` if it describes R'G'B', otherwise nil: a CMYK or grey profile does not fit the converted picture.
  static func carried(_ profile: [UInt8]) -> [UInt8]? {
    // The header has 128 bytes; the data colour space signature is at offset 16.
    guard (128...limit).contains(profile.count), profile[16..<20].elementsEqual("RGB ".utf8) else {
      return nil
    }
    return profile
  }
}
