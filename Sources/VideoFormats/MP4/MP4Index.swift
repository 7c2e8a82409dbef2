// Finds the pictures in a file that `FragmentedMP4` has written or is writing: the capture time of each, its
// bytes, and the pictures that a decoder needs for it. Picture data is not read for that.

/// The pictures of a file that `FragmentedMP4(isFile: true)` has written, or is writing.
///
/// ```swift
/// var index = MP4Index()
/// index.extend(to: size) { offset, count in DiskFile.read(descriptor, offset, count) }
/// let path = index.picture(at: 90_000).flatMap { index.path(to: $0) }
/// ```
package struct MP4Index: Sendable {
  /// The stream's parameters in a part of the file.
  package struct Format: Sendable, Hashable {
    /// The content of the `avcC` box, which `OriginalH264` reads.
    package let header: [UInt8]
    /// The size to show if it differs from the stream's own.
    package let shown: Size?
  }

  /// A picture, in 24 bytes of memory.
  package struct Picture: Sendable, Hashable {
    /// The capture time since the first picture, in ticks of 1/90000 s; not earlier than the picture before.
    package let ticks: Int
    /// The offset in the file of its NAL units, each of which is preceded by its length in four bytes.
    package let offset: Int
    private let length: UInt32
    private let formatIndex: UInt8
    /// Whether it is a keyframe, at which decoding can begin.
    package let isKey: Bool

    /// The number of bytes of its NAL units.
    package var byteCount: Int { Int(length) }
    /// The index of its format in `formats`.
    package var format: Int { Int(formatIndex) }

    fileprivate init(ticks: Int, offset: Int, byteCount: UInt32, format: UInt8, isKey: Bool) {
      (self.ticks, self.offset, self.isKey) = (ticks, offset, isKey)
      (length, formatIndex) = (byteCount, format)
    }
  }

  /// The different formats of the file, in the order in which they first occur; at most 100.
  package private(set) var formats: [Format] = []
  /// The pictures in the order of the file; at most 4,000,000.
  package private(set) var pictures: [Picture] = []

  private static let mostFormats = 100
  private static let mostPictures = 4_000_000

  /// The offset of the next box to read.
  private var offset = 0
  /// Whether the rest of the file can't be read, because it is damaged or above a limit.
  private var isOver = false
  /// The index of the format of the next picture.
  private var format: UInt8?
  /// The fragment of the picture in the next `mdat`.
  private var fragment: Fragment?
  /// The last picture's time, and the beginning and end of its fragment, in ticks: the state of the writer.
  private var last: (time: Int, begin: Int, end: Int)?

  package init() {}

  /// The ticks of 1/90000 s from the first picture to the end of the last, as in `MP4Recording`.
  package var length: Int { last?.end ?? 0 }
}

// MARK: Reading

extension MP4Index {
  /// Next to a picture of at least this size, only the boxes before the next picture's data are read.
  private static let largePicture = 16 << 10
  /// More than a fragment's boxes before its picture data.
  private static let headBytes = 160
  private static let blockBytes = 64 << 10
  /// The boxes that are read before `mayGoOn` is asked again. Each picture has two.
  private static let boxesPerStep = 4096
  /// Fewer bytes than a fragment has.
  private static let smallestFragment = 64

  /// The most bytes of memory that each picture takes while a file is read: a growing array is copied to one
  /// of twice its size.
  package static let bytesPerPicture = 3 * MemoryLayout<Picture>.stride

  /// Continues where the last call ended. It stops before a box that is not whole. At a damaged box the index
  /// ends.
  ///
  /// - Parameters:
  ///   - size: the number of bytes of the file to read up to.
  ///   - read: returns `count` bytes from `offset` on, or fewer if it can't read them; the next call tries
  ///     again.
  ///   - mayGoOn: asked before each 4096 boxes, with the most pictures that there may be after them. If it
  ///     returns false, this call ends; the next call continues there.
  package mutating func extend(
    to size: Int, read: (_ offset: Int, _ count: Int) -> [UInt8],
    mayGoOn: (_ pictureCount: Int) -> Bool = { _ in true }
  ) {
    var block = Block(size: size)
    var boxCount = 0
    while !isOver, size - offset >= 8 {
      if boxCount % Self.boxesPerStep == 0 {
        let most = min(Self.boxesPerStep / 2, (size - offset) / Self.smallestFragment + 1)
        guard mayGoOn(pictures.count + most) else { return }
      }
      boxCount += 1
      let nearest = fragment?.byteCount ?? pictures.last?.byteCount ?? 0
      let ahead = nearest >= Self.largePicture ? Self.headBytes : Self.blockBytes
      guard let start = block.take(8, at: offset, ahead: ahead, read) else { return }
      let head = MP4Box.Head(start)
      guard head.length <= size - offset else { return }
      switch head.type {
      case _ where head.length < 8: isOver = true
      case "moov", "moof":
        let limit = FragmentedMP4Reader.boxLimit
        guard let box = block.take(min(head.length, limit), at: offset, ahead: ahead, read) else { return }
        isOver = head.length > limit || !(head.type == "moov" ? takeMovie(box) : takeFragment(box))
      case "mdat": isOver = !takePicture(at: offset + 8, byteCount: head.length - 8)
      default: break
      }
      offset += head.length
    }
  }

  /// Reads the format of the pictures that follow. Returns whether it is understood.
  private mutating func takeMovie(_ box: ArraySlice<UInt8>) -> Bool {
    var reader = FragmentedMP4Reader(pictureLimit: 0)
    guard let events = try? reader.take(box), case .header(let header, let shown) = events.first else {
      return false
    }
    let new = Format(header: header, shown: shown)
    let index = formats.firstIndex(of: new) ?? formats.count
    guard index < Self.mostFormats else { return false }
    if index == formats.count { formats.append(new) }
    (format, fragment) = (UInt8(index), nil)
    return true
  }

  /// Reads the fragment of the next picture. Returns whether it is one that `FragmentedMP4` writes.
  private mutating func takeFragment(_ box: ArraySlice<UInt8>) -> Bool {
    fragment = Fragment(box.dropFirst(8))
    // Each fragment begins after the previous one has begun.
    return fragment.map { $0.begin > last?.begin ?? -1 } ?? false
  }

  /// Adds a picture. Returns whether it is the one that its fragment describes.
  private mutating func takePicture(at offset: Int, byteCount: Int) -> Bool {
    guard let format, let fragment, fragment.byteCount == byteCount, pictures.count < Self.mostPictures else {
      return false
    }
    let time = captureTime(of: fragment)
    pictures.append(
      Picture(
        ticks: max(time, pictures.last?.ticks ?? 0), offset: offset,
        byteCount: UInt32(truncatingIfNeeded: byteCount), format: format, isKey: fragment.isKey))
    last = (time, fragment.begin, fragment.end)
    self.fragment = nil
    return true
  }

  /// Returns the capture time of a fragment's picture: the inverse of the writer's `span(of:)`, exact while
  /// each picture is at least a tick later than the one before.
  ///
  /// A fragment begins at its picture's time, except after a gap, where it begins at the end of the previous
  /// one. It then ends an interval after its picture: the time since the last picture, at most doubled and at
  /// most 10 seconds.
  private func captureTime(of fragment: Fragment) -> Int {
    let (begin, end) = (fragment.begin, fragment.end)
    guard let last, begin == last.end else { return begin }
    let longest = min(2 * (last.end - last.time), 10 * videoTimescale)
    // If the interval is the time since the last picture, the picture is halfway between that and the end.
    let time = end - last.time >= 2 * longest ? end - longest : (end + last.time) / 2
    let isLate = time - last.begin > 2 * (last.end - last.begin)
    return isLate ? time : begin
  }
}

/// The fields of a `moof` box, in ticks and bytes.
private struct Fragment {
  let begin: Int
  let end: Int
  let byteCount: Int
  let isKey: Bool

  /// Reads the content of a box. Nil if it is not the fragment of one picture with a duration.
  init?(_ moof: ArraySlice<UInt8>) {
    guard let track = MP4Box.find("traf", in: moof), let time = MP4Box.find("tfdt", in: track),
      let run = MP4Box.find("trun", in: track), time.count == 12, run.count == 24,
      run.bigEndian(at: 0) & 0xff_ffff == 0x701, run.bigEndian(at: 4) == 1
    else { return nil }
    let ticks = UInt64(time.bigEndian(at: 4)) << 32 | UInt64(time.bigEndian(at: 8))
    let duration = Int(run.bigEndian(at: 12))
    guard ticks < 1 << 50, duration > 0 else { return nil }
    (begin, end) = (Int(ticks), Int(ticks) + duration)
    byteCount = Int(run.bigEndian(at: 16))
    // The flag of samples that are not keyframes (ISO/IEC 14496-12, 8.8.3.1).
    isKey = run.bigEndian(at: 20) & 0x1_0000 == 0
  }
}

/// Bytes of a file that were read together.
private struct Block {
  private let size: Int
  private var begin = 0
  private var bytes: [UInt8] = []

  /// Creates an empty block of a file of `size` bytes.
  init(size: Int) { self.size = size }

  /// Returns `count` bytes from `offset` on. If it has too few, it reads a new block of at least `ahead`
  /// bytes, up to the end of the file. Nil if `read` returns too few.
  mutating func take(
    _ count: Int, at offset: Int, ahead: Int, _ read: (_ offset: Int, _ count: Int) -> [UInt8]
  ) -> ArraySlice<UInt8>? {
    if offset < begin || offset + count > begin + bytes.count {
      bytes = read(offset, min(max(count, ahead), size - offset))
      begin = offset
    }
    let place = offset - begin
    return place + count <= bytes.count ? bytes[place..<place + count] : nil
  }
}

// MARK: Finding pictures

extension MP4Index {
  /// Returns the index of the newest picture captured at or before `ticks`; nil before the first one.
  package func picture(at ticks: Int) -> Int? {
    var (low, high) = (0, pictures.count)
    while low < high {
      let middle = (low + high) / 2
      if pictures[middle].ticks <= ticks { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? low - 1 : nil
  }

  /// Returns the index of the last keyframe at or before the picture `index`, of the same format. Nil if there
  /// is none.
  package func keyframe(at index: Int) -> Int? {
    guard pictures.indices.contains(index) else { return nil }
    let format = pictures[index].format
    let key = pictures[...index].lastIndex { $0.isKey || $0.format != format }
    return key.flatMap { pictures[$0].format == format ? $0 : nil }
  }

  /// Returns the indices of the pictures to decode for the picture `index`, from its keyframe on.
  package func path(to index: Int) -> ClosedRange<Int>? { keyframe(at: index).map { $0...index } }

  /// Reads the pictures of a path for a decoder. Their timestamps are `start` and the time since the first
  /// picture, and at least a millisecond apart.
  ///
  /// - Returns: nil if `read` returns too few bytes, or if the pictures are not a stream that `OriginalH264`
  ///   passes through.
  package func samples(
    of path: ClosedRange<Int>, since start: CaptureInstant = .start, maximumPixels: Int,
    read: (_ offset: Int, _ count: Int) -> [UInt8]
  ) -> [VideoSample]? {
    guard pictures.indices.contains(path.lowerBound), pictures.indices.contains(path.upperBound) else {
      return nil
    }
    let format = formats[pictures[path.lowerBound].format]
    var h264 = OriginalH264(header: format.header, maximumPixels: maximumPixels)
    var samples: [VideoSample] = []
    for picture in pictures[path] {
      let bytes = read(picture.offset, picture.byteCount)
      let time = start + .seconds(Double(picture.ticks) / Double(videoTimescale))
      guard bytes.count == picture.byteCount,
        case .sample(let sample) = h264.take(bytes, mediaTime: nil, timestamp: time)
      else { return nil }
      samples.append(Self.sample(sample, shown: format.shown))
    }
    return samples
  }

  /// Returns a sample with the size that is shown, without the last column or row of the stream's pictures.
  private static func sample(_ sample: VideoSample, shown: Size?) -> VideoSample {
    guard let shown, shown.even == sample.format.size else { return sample }
    return VideoSample(
      bytes: sample.bytes, isKey: sample.isKey, timestamp: sample.timestamp,
      format: H264Format(
        sps: sample.format.sps, pps: sample.format.pps, size: shown, encoder: sample.format.encoder))
  }
}
