// What an encoder gives: a driver's bytes, which nobody has checked.
import PreviewCore

@testable import GLPreview
@testable import VideoFormats

extension FuzzTarget {
  /// A picture of an H.264 byte stream.
  static let h264 = FuzzTarget(
    name: "h264", longest: 1024,
    words: [
      "\0\0\u{1}", "\0\0\0\u{1}", "\0\0\u{3}", "\u{67}", "\u{68}", "\u{65}", "\u{41}", "\u{6}",
      "\u{42}\u{C0}\u{1E}",
    ],
    seeds: {
      let small: [UInt8] = [0x67, 66, 0xC0, 30, 0xDA, 0x79]
      let cropped: [UInt8] = [0x67, 66, 0xC0, 30, 0xDA, 0x7E, 0xAD]
      let rest: [UInt8] = [0, 0, 0, 1, 0x68, 0xCE, 0x3C, 0x80, 0, 0, 1, 6, 5, 4, 0, 0, 1, 0x65, 0x88, 0x84]
      return [small, cropped].map { [0, 0, 0, 1] + $0 + rest } + [[0, 0, 1, 0x41, 0x9A]]
    },
    body: .atOnce { (input) throws(FuzzFault) in
      let stream = H264Stream(input)
      try must(stream.isKey ? !stream.slices.isEmpty : true, "a key picture without slices")
      let sps = stream.sps ?? input
      if let set = SequenceParameters(sps) {
        try must(set.size.width > 0 && set.size.height > 0, "a picture of \(set.size)")
        try must(set.size.width <= 1 << 16 && set.size.height <= 1 << 17, "a picture of \(set.size)")
      }
      // The same bytes as what a container says of a stream, and as its packets.
      for header in [input, [1, 66, 0xC0, 30] + input] {
        var passable = OriginalH264(header: header, maximumPixels: 1 << 20)
        for _ in 0..<2 {
          guard case .sample(let sample) = passable.take(input, mediaTime: nil, timestamp: .start) else {
            continue
          }
          try must(sample.format.size.pixelCount <= 1 << 20, "a picture of \(sample.format.size) is sent on")
          let sent = H264Stream(sample.bytes, lengthBytes: 4)
          try must(
            sent.refusal == nil && sent.slices == sample.bytes, "what is sent on is not what it was taken for"
          )
        }
      }
      // What goes into a file comes out of it again.
      let format = H264Format(
        sps: sps, pps: stream.pps ?? [], size: Size(width: 2, height: 2), encoder: .x264)
      let sample = VideoSample(bytes: stream.slices, isKey: false, timestamp: .start, format: format)
      let again = H264Stream(sample.annexB)
      try must(again.slices == stream.slices && again.isKey == stream.isKey, "slices get lost")
      var mp4 = FragmentedMP4()
      let fragment = mp4.append(sample)
      try must(
        fragment.suffix(stream.slices.count).elementsEqual(stream.slices), "a fragment has other slices")
    })
}
