// Whether an ICC profile that came with a picture may be carried on: what we encode is R'G'B' or made from it.

/// An ICC profile as bytes (ICC.1:2022, 7.2).
enum ICCProfile {
  /// The most bytes of a profile that goes with a picture; those of cameras and screens have a few kilobytes.
  static let limit = 4 << 20

  /// `profile` where it describes R'G'B', else nil: a CMYK or grey picture's profile does not fit what becomes of it.
  static func carried(_ profile: [UInt8]) -> [UInt8]? {
    // The header is 128 bytes; its data colour space signature stands at 16.
    guard (128...limit).contains(profile.count), profile[16..<20].elementsEqual("RGB ".utf8) else {
      return nil
    }
    return profile
  }
}
