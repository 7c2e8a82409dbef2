// A recorded file, whose pictures are looked up while it is written.
import PreviewCore

@testable import VideoFormats

extension FuzzTarget {
  /// The first byte says by how many bytes the file, which is the rest, grows at a time.
  static let mp4Index = FuzzTarget(
    name: "mp4-index", longest: 4096,
    words: [
      "moov", "moof", "mdat", "free", "trak", "mdia", "minf", "stbl", "stsd", "avc1", "avcC", "clap", "traf",
      "tfdt", "trun", "\0\0\0\u{8}", "\0\0\u{7}\u{1}", "\u{1}\u{1}\0\0", "\u{FF}\u{FF}\u{FF}\u{FF}",
    ],
    seeds: {
      var (mp4, bytes): (FragmentedMP4, [UInt8]) = (FragmentedMP4(isFile: true, note: [1, 2, 3]), [])
      // With a gap, and a format that begins with the fourth picture.
      for (index, time) in [0, 40, 80, 120, 3000, 3040].enumerated() {
        let isKey = index == 0 || index == 3
        let size = Size(width: index < 3 ? 14 : 13, height: 12)
        bytes += mp4.append(
          VideoSample(
            bytes: [0, 0, 0, 4, isKey ? 0x65 : 0x41, 0x9A, 0x88, 0x84], isKey: isKey,
            timestamp: .start + .milliseconds(time),
            format: H264Format(
              sps: [0x67, 66, 0xC0, 30, 0xDA, 0x7E, 0xAD], pps: [0x68, 0xCE, 0x3C, 0x80], size: size,
              encoder: .x264)))
      }
      return [[255] + bytes, [6] + bytes]
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let piece = Int(input.byte()) + 1
      let bytes = input.bytes
      let read = { (offset: Int, count: Int) -> [UInt8] in
        Array(bytes[offset..<min(offset + count, bytes.count)])
      }
      var (whole, grown) = (MP4Index(), MP4Index())
      whole.extend(to: bytes.count, read: read)
      for size in stride(from: 0, to: bytes.count, by: piece) { grown.extend(to: size, read: read) }
      grown.extend(to: bytes.count, read: read)
      try must(
        whole.pictures == grown.pictures && whole.formats == grown.formats,
        "the pictures depend on how the file grows")
      var ticks = 0
      for (number, picture) in whole.pictures.enumerated() {
        try must(
          picture.offset >= 8 && picture.offset + picture.byteCount <= bytes.count, "a picture is outside")
        try must(picture.ticks >= ticks, "pictures are not in order of time")
        ticks = picture.ticks
        try must(picture.format < whole.formats.count, "a picture has no format")
        let found = whole.picture(at: ticks).map { whole.pictures[$0].ticks }
        try must(found == ticks, "a picture is not found at its time")
        guard let path = whole.path(to: number) else { continue }
        let pictures = whole.pictures[path]
        try must(path.upperBound == number && pictures.first?.isKey == true, "a path without a keyframe")
        try must(pictures.allSatisfy { $0.format == picture.format }, "a path of several formats")
        let samples = whole.samples(of: path, maximumPixels: 1 << 20, read: read) ?? []
        try must(
          samples.allSatisfy { $0.format.size.pixelCount <= 1 << 20 }, "a picture is above the pixel limit")
      }
    })
}
