// The readback of a frame's pictures: of their samples, or of the scans that they are coded as.

/// The pictures of a frame on the GPU, of which `copy` starts a copy to a buffer that is read back, and `pictures` takes
/// them from there.
struct FrameReadback {
  /// None after `copy`.
  private var targets: [PictureTarget]
  private var sections: [Section] = []
  /// Where compute shaders wrote planes, or where pictures are coded from.
  private let samples: Shared<PixelBuffer>?
  private let hasAllSamples: Bool
  private let scans: CodedScans?
  private let coder: JPEGCoder?
  /// The bytes that are read back.
  private(set) var byteCount = 0

  private struct Section {
    let layout: PictureLayout
    /// The picture's first byte in `samples`.
    let stored: Int
    /// The first byte of the samples that are read back; nil if they are not.
    var samples: Int?
    var scan: ScanSection?
  }

  private struct ScanSection {
    let job: CodingJob
    /// The first byte of the scan's header in the buffer that is read back.
    let start: Int
    /// The bytes of the scan that are copied there.
    let room: Int
    /// The first byte of the header in the buffer of scans, and the bytes that fit there.
    let place: Int
    let capacity: Int
  }

  /// Pictures in targets, or, planes that have none, in `buffer`. On request, `coder` codes them; `take` gets a
  /// buffer for their samples of at least a number of bytes.
  init(
    _ targets: [PictureTarget], in buffer: PictureBuffer?, _ coder: JPEGCoder?,
    _ take: (Int) throws(GLError) -> Shared<PixelBuffer>
  ) throws(GLError) {
    self.targets = targets
    var (jobs, stored): ([Int: CodingJob], Int) = ([:], 0)
    for (index, target) in targets.enumerated() {
      sections.append(Section(layout: target.layout, stored: stored))
      if let coder, let coding = target.coding, coder.codes(target.layout, coding) {
        jobs[index] = CodingJob(layout: target.layout, offset: stored, coding: coding)
      }
      stored += target.layout.byteCount
    }
    let coded = jobs.sorted { $0.key < $1.key }
    self.coder = coder
    var (samples, scans) = (buffer?.buffer, CodedScans?.none)
    if let coder, !coded.isEmpty {
      do throws(GLError) {
        let source = if let samples { samples } else { try take(stored) }
        for (index, job) in coded { try targets[index].read(into: source.object, at: job.offset) }
        scans = try coder.code(coded.map(\.value), from: source.object)
        samples = source
      } catch {
        // The CPU codes what there is no memory for.
        guard error.isOutOfMemory else { throw error }
      }
    }
    (self.samples, self.scans, hasAllSamples) = (samples, scans, buffer != nil)
    for index in sections.indices {
      if scans == nil || jobs[index]?.coding.keepsSamples != false {
        sections[index].samples = byteCount
        byteCount += sections[index].layout.byteCount
      }
    }
    guard let scans, let coder else { return }
    for ((index, job), place) in zip(coded, scans.places) {
      let room = min(coder.expectedBytes(of: job), place.capacity) / 4 * 4
      sections[index].scan = ScanSection(
        job: job, start: byteCount, room: room, place: place.start, capacity: place.capacity)
      byteCount += JPEGPlaces.headerBytes + room
    }
  }

  /// Makes the GPU copy what is read back, without waiting. The targets may be drawn into again at once.
  mutating func copy(to readback: borrowing PixelBuffer) throws(GLError) {
    defer { targets = [] }
    for (target, section) in zip(targets, sections) {
      if let start = section.samples {
        // First, because it also copies what is not there.
        if hasAllSamples, let samples {
          try samples.object.copy(
            section.stored..<section.stored + section.layout.byteCount, to: readback, at: start)
        }
        try target.read(into: readback, at: start)
      }
      if let scan = section.scan, let scans {
        let count = JPEGPlaces.headerBytes + scan.room
        try scans.buffer.object.copy(scan.place..<scan.place + count, to: readback, at: scan.start)
      }
    }
  }

  /// Takes the pictures out, when the GPU has finished.
  func pictures(from readback: borrowing PixelBuffer) throws(GLError) -> [Picture] {
    guard byteCount > 0 else { return [] }
    let read = try readback.withBytes(0..<byteCount) { bytes in
      sections.map { section in
        let samples = section.samples.map { start in
          section.layout.picture(copying: bytes.extracting(start..<start + section.layout.byteCount))
        }
        guard let scan = section.scan else {
          return (samples: samples, scan: [UInt8]?.none, size: 0, quality: 0)
        }
        let size = (0..<4).reduce(0) { $0 | Int(bytes[scan.start + $1]) << (8 * $1) }
        let coding = scan.job.coding
        let quality = coding.maximumBytes == nil ? coding.quality : Int(bytes[scan.start + 4])
        let first = scan.start + JPEGPlaces.headerBytes
        let isThere = size <= scan.room
        return (
          samples, isThere ? Array(copying: bytes.extracting(first..<first + size)) : nil, size, quality
        )
      }
    }
    var pictures: [Picture] = []
    for (section, read) in zip(sections, read) {
      pictures.append(try picture(section, read.samples, read.scan, size: read.size, quality: read.quality))
    }
    return pictures
  }

  private func picture(
    _ section: Section, _ samples: Picture?, _ bytes: [UInt8]?, size: Int, quality: Int
  ) throws(GLError) -> Picture {
    guard let scan = section.scan, let scans else {
      if let samples { return samples }
      return try storedSamples(of: section)
    }
    // The number of bytes that did not fit is larger than any.
    let isRight = (1...scan.capacity).contains(size) && (1...scan.job.coding.quality).contains(quality)
    coder?.saw(isRight ? size : nil, of: scan.job)
    guard isRight else {
      if let samples { return samples }
      return try storedSamples(of: section)
    }
    var bytes = bytes
    if bytes == nil {
      let first = scan.place + JPEGPlaces.headerBytes
      bytes = try Self.read(scans.buffer, first..<first + size) { Array(copying: $0) }
    }
    let coded = Picture.Scan(
      quality: quality, bytes: bytes ?? [], maximumBytes: scan.job.coding.maximumBytes)
    return samples?.with(coded)
      ?? Picture(size: section.layout.size, format: section.layout.format, scan: coded)
  }

  /// Reads samples that were to stay on the GPU.
  private func storedSamples(of section: Section) throws(GLError) -> Picture {
    guard let samples else { throw GLError("reading back a picture", .bounds("not stored")) }
    return try Self.read(samples, section.stored..<section.stored + section.layout.byteCount) {
      section.layout.picture(copying: $0)
    }
  }

  /// Reads from a buffer of the GPU, which is not mapped itself: some drivers would keep it in the CPU's memory from then on.
  private static func read<Result>(
    _ buffer: Shared<PixelBuffer>, _ range: Range<Int>, _ body: (Span<UInt8>) -> Result
  ) throws(GLError) -> Result {
    let readback = try PixelBuffer(byteCount: range.count)
    try buffer.object.copy(range, to: readback, at: 0)
    return try readback.withBytes(nil, body)
  }

  /// Returns the buffers that the GPU has finished with; `giveBack` gets that of the samples.
  func finish(_ giveBack: (Shared<PixelBuffer>) -> Void) {
    if let samples { giveBack(samples) }
    if let scans { coder?.giveBack(scans) }
  }
}

extension [UInt8] {
  fileprivate init(copying span: Span<UInt8>) {
    self = unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
  }
}
