// Decides by their bytes alone which pictures of a camera's own H.264 can be passed through unchanged.

/// Turns the packets of one connection, one picture each, into samples where they can be passed through.
package struct OriginalH264: Sendable {
  /// The decision about a packet.
  package enum Verdict: Sendable, Equatable {
    /// The packet is passed through.
    case sample(VideoSample)
    /// The packet has no picture.
    case nothing
    /// The packet is not passed through: an earlier picture that it may depend on was not, or the stream
    /// can't be.
    case decode
  }

  /// The reason why the stream is not passed through at all; nil while it may be.
  package private(set) var refusal: String?
  private let maximumPixels: Int
  /// The number of bytes of the length before a unit, as in MP4; nil for a byte stream.
  private var lengthBytes: Int?
  private var sps: [UInt8]?
  private var pps: [UInt8]?
  private var format: H264Format?
  /// The number of bits of `frame_num` in the format; nil if the numbers may have gaps.
  private var numberBits: Int?
  /// The `frame_num` of the last reference picture.
  private var lastNumber = 0
  /// Whether all pictures since a keyframe were passed through.
  private var isOpen = false
  /// The time of the last picture by the stream's own clock.
  private var last: Duration?
  private var lastTimestamp: CaptureInstant?

  /// Creates a reader. `header` is the container's description of the stream: parameter sets as a byte
  /// stream, or as in MP4 (`avcC`).
  package init(header: [UInt8], maximumPixels: Int) {
    self.maximumPixels = maximumPixels
    read(header)
  }

  /// Reads a new header: the parameter sets and the packet format change from the next packet on.
  package mutating func read(_ header: [UInt8]) {
    guard header.first == 1 else { return take(H264Stream(header)) }
    // ISO/IEC 14496-15, 5.3.3.1.2.
    guard header.count > 6 else { return refuse("its header is cut short") }
    lengthBytes = Int(header[4] & 3) + 1
    var units: [UInt8] = []
    var rest = header[5...]
    for _ in 0..<2 {
      let count = (rest.popFirst() ?? 0) & 31
      for _ in 0..<count {
        let length = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        units += H264Stream.startCode + rest.dropFirst(2).prefix(length)
        rest = rest.dropFirst(2 + length)
      }
    }
    take(H264Stream(units))
  }

  private mutating func take(_ stream: H264Stream) {
    (sps, pps) = (stream.sps ?? sps, stream.pps ?? pps)
    if let reason = stream.refusal { refuse(reason) }
  }

  private mutating func refuse(_ reason: String) { (refusal, isOpen) = (refusal ?? reason, false) }

  /// Reports that pictures are missing: none is passed through until the next keyframe.
  package mutating func lose() { isOpen = false }

  /// Decides about a packet: `mediaTime` is its time by the stream's own clock, and `timestamp` by
  /// `CaptureClock`.
  package mutating func take(
    _ packet: [UInt8], mediaTime: Duration?, timestamp: CaptureInstant, isDamaged: Bool = false
  ) -> Verdict {
    guard refusal == nil else { return .decode }
    let stream =
      lengthBytes.map { H264Stream(packet, lengthBytes: $0) } ?? H264Stream(packet)
    take(stream)
    guard !stream.slices.isEmpty else { return isOpen ? .nothing : .decode }
    // A larger jump back is a jump of the sender's clock, not reordering.
    if let mediaTime, let last, mediaTime < last, last - mediaTime < .seconds(1) {
      refuse("its pictures are not in order")
    }
    last = mediaTime ?? last
    if isDamaged { lose() } else if stream.isKey { begin() }
    if let numberBits, !follows(stream, numberBits) { lose() }
    guard isOpen, let format else { return .decode }
    let time = lastTimestamp.map { max(timestamp, $0 + .milliseconds(1)) } ?? timestamp
    lastTimestamp = time
    return .sample(
      VideoSample(bytes: stream.slices, isKey: stream.isKey, timestamp: time, format: format))
  }

  /// Starts to pass pictures through at a keyframe, in the format of its parameter sets.
  private mutating func begin() {
    guard refusal == nil, let sps, let pps else { return lose() }
    if format?.sps != sps || format?.pps != pps {
      guard let parameters = SequenceParameters(sps) else {
        return refuse("its parameters are not understood")
      }
      if let reason = Self.refusal(of: parameters, maximumPixels) { return refuse(reason) }
      format = H264Format(sps: sps, pps: pps, size: parameters.size, encoder: nil)
      numberBits = parameters.frameNumberBits
    }
    isOpen = true
  }

  /// Returns whether no picture is missing before this one: the numbers of reference pictures have no gaps
  /// (7.4.3).
  private mutating func follows(_ stream: H264Stream, _ bitCount: Int) -> Bool {
    guard let place = stream.place(bitCount) else { return false }
    let isNext = stream.isKey || [lastNumber, (lastNumber + 1) % (1 << bitCount)].contains(place.number)
    if place.isReference { lastNumber = place.number }
    return isNext
  }

  /// Returns why some clients would not show a stream of these parameters as our own renderer does; nil if
  /// all would.
  static func refusal(of parameters: SequenceParameters, _ maximumPixels: Int) -> String? {
    switch parameters {
    case _ where ![66, 77, 100].contains(parameters.profile) || !parameters.isUsual:
      "browsers don't decode its profile (\(parameters.profile))"
    case _ where !parameters.isProgressive: "it is interlaced"
    case _ where !parameters.isSquare: "its pixels are not square"
    case _ where (parameters.reordered ?? 0) > 0 && parameters.profile != 66: "it may have B pictures"
    default: parameters.size.refusal(maximumPixels: maximumPixels)
    }
  }
}
