// An open device file, and the calls to it.
internal import CV4L2
internal import Glibc

/// An open device node. Its calls may block for as long as the driver takes, so don't call it on Swift's
/// thread pool.
final class V4L2Node: Sendable {
  typealias Format = V4L2Camera.Format
  typealias FrameSizes = V4L2Camera.FrameSizes
  typealias FrameIntervals = V4L2Camera.FrameIntervals

  let path: String
  let descriptor: CInt
  let capability: V4L2Capability
  let isMultiplanar: Bool

  /// Opens `path` and attaches it to libv4l2.
  init(opening path: String, converts: Bool = false) throws(V4L2Error) {
    let descriptor = unsafe glp_v4l2_open(path)
    guard descriptor >= 0 else { throw V4L2Error(activity: "opening it", code: -descriptor) }
    do throws(V4L2Error) {
      capability = try V4L2Capability(of: descriptor)
    } catch {
      glp_v4l2_close(descriptor)
      throw error
    }
    self.path = path
    self.descriptor = descriptor
    isMultiplanar = capability.isMultiplanar
    // libv4l2 supports sixteen devices. Calls for further ones, and for those that it refuses, go to the
    // kernel directly. Multi-planar devices are not attached: libv4l2's plugin for them hides their formats,
    // and writes to standard output (1.22).
    if capability.captures, !isMultiplanar { _ = glp_v4l2_attach(descriptor, converts) }
  }

  deinit { glp_v4l2_close(descriptor) }

  /// Makes the driver release its buffers, so that another format can be set. Existing mappings stay valid.
  func releaseBuffers(areShared: Bool) {
    var none: UInt32 = 0
    // The driver frees buffers of either kind.
    _ = unsafe glp_v4l2_request_buffers(descriptor, isMultiplanar, areShared, &none)
  }

  // MARK: Formats

  /// Returns the available formats. Sizes and rates are included for formats that `wanted` accepts, because
  /// each takes a call.
  func formats(where wanted: (Format) -> Bool = { _ in true }) -> [Format] {
    var formats: [Format] = []
    var offer = glp_v4l2_offer()
    // A limit for drivers whose list never ends.
    for index in 0..<UInt32(256) {
      guard unsafe glp_v4l2_offer_at(descriptor, isMultiplanar, index, &offer) == 0 else { break }
      let code = FourCC(code: offer.fourcc)
      func format(_ sizes: [FrameSizes]) -> Format {
        Format(
          code, description: String(tuple: offer.description), isEmulated: offer.is_emulated, sizes: sizes)
      }
      formats.append(format(wanted(format([])) ? sizes(code) : []))
    }
    return formats
  }

  private func sizes(_ code: FourCC) -> [FrameSizes] {
    var all: [FrameSizes] = []
    var sizes = glp_v4l2_sizes()
    for index in 0..<UInt32(256) {
      guard unsafe glp_v4l2_sizes_at(descriptor, code.code, index, &sizes) == 0 else { break }
      let maximum = Size(width: Int(sizes.greatest_width), height: Int(sizes.greatest_height))
      guard maximum.width > 0, maximum.height > 0, maximum.width <= 65535, maximum.height <= 65535 else {
        continue
      }
      all.append(
        FrameSizes(
          minimum: Size(width: Int(sizes.least_width), height: Int(sizes.least_height)), maximum: maximum,
          step: Size(width: Int(sizes.width_step), height: Int(sizes.height_step)),
          intervals: intervals(code, maximum)))
    }
    // Drivers for signals (HDMI, TV) have one size and do not list it.
    if all.isEmpty, let format = try? format(), format.width > 0, format.height > 0 {
      var rate: [FrameIntervals] = []
      if let interval = interval() { rate = [FrameIntervals(shortest: interval, longest: interval)] }
      all = [FrameSizes(Size(width: Int(format.width), height: Int(format.height)), intervals: rate)]
    }
    return all
  }

  private func intervals(_ code: FourCC, _ size: Size) -> [FrameIntervals] {
    var all: [FrameIntervals] = []
    var intervals = glp_v4l2_intervals()
    for index in 0..<UInt32(256) {
      let status = unsafe glp_v4l2_intervals_at(
        descriptor, code.code, UInt32(size.width), UInt32(size.height), index, &intervals)
      guard status == 0 else { break }
      guard intervals.shortest_denominator > 0, intervals.longest_denominator > 0 else { continue }
      all.append(
        FrameIntervals(
          shortest: .init(
            numerator: Int(intervals.shortest_numerator), denominator: Int(intervals.shortest_denominator)),
          longest: .init(
            numerator: Int(intervals.longest_numerator), denominator: Int(intervals.longest_denominator))))
    }
    return all.sorted { $0.shortest.framesPerSecond > $1.shortest.framesPerSecond }
  }

  func format() throws(V4L2Error) -> glp_v4l2_format {
    var format = glp_v4l2_format()
    try V4L2Error.check(
      unsafe glp_v4l2_get_format(descriptor, isMultiplanar, &format), "reading the format")
    return format
  }

  /// Sets format and size. The driver may respond with different ones.
  func set(_ selection: V4L2ModeSelection, forGPU: Bool = false) throws(V4L2Error) -> glp_v4l2_format {
    var format = glp_v4l2_format()
    let bytesPerRow = forGPU ? selection.bytesPerRowForGPU : 0
    // Requests whole frames. Drivers that have only separate fields report that in their response.
    for field in [V4L2Field.none, V4L2Field.interlaced] {
      format.width = UInt32(selection.size.width)
      format.height = UInt32(selection.size.height)
      format.fourcc = selection.fourCC.code
      format.field = field
      format.planes.0.bytes_per_line = UInt32(clamping: bytesPerRow)
      try V4L2Error.check(
        unsafe glp_v4l2_set_format(descriptor, isMultiplanar, &format), "setting the format")
      if V4L2Field.isWhole(format.field) { break }
    }
    return format
  }

  /// Returns the current interval between pictures; nil if the driver does not report it.
  func interval() -> FrameIntervals.Interval? {
    var (numerator, denominator): (UInt32, UInt32) = (0, 0)
    guard
      unsafe glp_v4l2_get_interval(descriptor, isMultiplanar, &numerator, &denominator) == 0,
      numerator > 0, denominator > 0
    else { return nil }
    return .init(numerator: Int(numerator), denominator: Int(denominator))
  }

  /// Sets the interval if the driver supports that; returns the resulting one.
  func set(_ interval: FrameIntervals.Interval) throws(V4L2Error) -> FrameIntervals.Interval? {
    var numerator = UInt32(clamping: interval.numerator)
    var denominator = UInt32(clamping: interval.denominator)
    switch unsafe glp_v4l2_set_interval(descriptor, isMultiplanar, &numerator, &denominator) {
    case 0: break
    case ENOTTY, EINVAL: return self.interval()
    case let code: throw V4L2Error(activity: "setting the rate", code: code)
    }
    guard numerator > 0, denominator > 0 else { return nil }
    return .init(numerator: Int(numerator), denominator: Int(denominator))
  }
}

/// The values of `enum v4l2_field` that are used here.
enum V4L2Field {
  static let none: UInt32 = 1
  static let interlaced: UInt32 = 4

  /// Returns whether a buffer contains rows in order: all of them (0, 1, 4, 8, 9), or one field as a picture
  /// (2, 3).
  static func isWhole(_ field: UInt32) -> Bool { [0, 1, 2, 3, 4, 8, 9].contains(field) }
}

struct V4L2Capability: Sendable, Hashable {
  let driver: String
  let card: String
  let bus: String
  let captures: Bool
  let isMultiplanar: Bool
  let streams: Bool
  /// A description of the device for the case that it is not a camera.
  let otherwise: String

  init(of descriptor: CInt) throws(V4L2Error) {
    var answer = glp_v4l2_capability()
    try V4L2Error.check(unsafe glp_v4l2_query(descriptor, &answer), "asking what it is")
    driver = String(tuple: answer.driver)
    card = String(tuple: answer.card)
    bus = String(tuple: answer.bus_info)
    captures = answer.captures && !answer.is_memory_to_memory
    isMultiplanar = answer.is_multiplanar
    streams = answer.streams
    otherwise =
      answer.is_memory_to_memory
      ? "it converts pictures, and has none of its own"
      : answer.captures_metadata
        ? "it gives a camera's metadata, not its pictures"
        : answer.outputs ? "it shows pictures" : "it gives no pictures"
  }
}
