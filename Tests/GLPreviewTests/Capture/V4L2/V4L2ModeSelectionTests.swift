// Which format, size and rate is taken, of made-up cameras.
import PreviewCore
import Testing

@testable import CaptureV4L2
@testable import GLPreview

private let vga = Size(width: 640, height: 480)
private let hd = Size(width: 1280, height: 720)
private let fullHD = Size(width: 1920, height: 1080)

private func rates(_ rates: [Double]) -> [V4L2Camera.FrameIntervals] {
  rates.map { rate in
    let interval = V4L2Camera.FrameIntervals.Interval(numerator: 1000, denominator: Int(rate * 1000))
    return V4L2Camera.FrameIntervals(shortest: interval, longest: interval)
  }
}

private func format(_ code: StaticString, _ sizes: [(Size, [Double])], isEmulated: Bool = false)
  -> V4L2Camera.Format
{
  V4L2Camera.Format(
    FourCC(code), isEmulated: isEmulated,
    sizes: sizes.map { V4L2Camera.FrameSizes($0.0, intervals: rates($0.1)) })
}

/// A webcam on USB 2: raw pictures of high definition come slowly.
private let webcam = [
  format("YUYV", [(vga, [30, 15]), (hd, [10, 5]), (fullHD, [5])]),
  format("MJPG", [(vga, [30]), (hd, [60, 30]), (fullHD, [30, 15])]),
]

/// The choice in a line.
private func choice(
  _ formats: [V4L2Camera.Format], _ preferences: V4L2Preferences = V4L2Preferences(),
  size: Size? = nil, fps: Double? = nil
) -> String {
  do {
    let choice = try V4L2ModeSelection(
      formats, preferences, SourceOptions.Demand(minimumSize: size, framesPerSecond: fps))
    let rate = choice.interval.map { " \(V4L2Camera.FrameIntervals.number($0.framesPerSecond))" } ?? ""
    return "\(choice.fourCC) \(choice.size)\(rate)\(choice.isEmulated ? " emulated" : "")"
  } catch { return "\(error)" }
}

@Test(
  "the cheapest mode of a webcam that meets the demand is selected",
  arguments: [
    // Nothing wanted: as large as may be, but moving.
    (nil, nil, "MJPG 1920x1080 30"),
    // Samples where they are quick enough, in the smallest size that is large enough.
    (vga, 30, "YUYV 640x480 30"), (Size(width: 320, height: 200), 10, "YUYV 640x480 15"),
    (hd, 10, "YUYV 1280x720 10"),
    (Size(width: 641, height: 480), 5, "YUYV 1280x720 5"),
    // JPEGs where the bus is too slow for samples.
    (hd, 15, "MJPG 1280x720 30"), (hd, 60, "MJPG 1280x720 60"), (fullHD, 30, "MJPG 1920x1080 30"),
    (hd, nil, "MJPG 1280x720 30"),
    // What nothing serves: size before rate, then the most there is.
    (fullHD, 60, "MJPG 1920x1080 30"), (Size(width: 4000, height: 3000), 5, "MJPG 1920x1080 15"),
  ] as [(Size?, Double?, String)])
func webcamChoice(size: Size?, fps: Double?, expected: String) {
  #expect(choice(webcam, size: size, fps: fps) == expected)
}

@Test("at one size fewer bytes win, and colour over grey, opaque over alpha, native over emulated")
func cheapestSamples() {
  let all = [(vga, [30.0])]
  let grey = format("GREY", all)

  #expect(choice([grey, format("RGB3", all), format("YUYV", all)], size: vga) == "YUYV 640x480 30")
  #expect(choice([format("YUYV", all), format("NV12", all)], size: vga) == "NV12 640x480 30")
  #expect(choice([format("AR24", all), format("XR24", all)], size: vga) == "XR24 640x480 30")
  #expect(choice([grey, format("MJPG", all)], size: vga) == "MJPG 640x480 30")
  #expect(choice([grey], size: vga) == "GREY 640x480 30")

  let emulated = format("YU12", all, isEmulated: true)
  #expect(choice([emulated, format("BA81", all)]) == "YU12 640x480 30 emulated")
  #expect(choice([emulated, grey]) == "GREY 640x480 30")
  // Of what libv4lconvert makes R'G'B' alone is of a range that is known.
  #expect(choice([emulated, format("RGB3", all, isEmulated: true)]) == "RGB3 640x480 30 emulated")
}

@Test("a smaller size is preferred to a format with fewer bytes per pixel")
func sizeBeforeBytes() {
  let formats = [format("YUYV", [(vga, [30])]), format("NV12", [(fullHD, [30])])]
  #expect(choice(formats, size: vga) == "YUYV 640x480 30")
  #expect(choice(formats, size: hd) == "NV12 1920x1080 30")
}

@Test("requested format, size and rate are used exactly and override the demand")
func preferences() {
  #expect(choice(webcam, V4L2Preferences(format: "yuyv")) == "YUYV 640x480 30")
  #expect(choice(webcam, V4L2Preferences(format: "MJPEG", size: vga)) == "MJPG 640x480 30")
  #expect(choice(webcam, V4L2Preferences(size: hd)) == "MJPG 1280x720 30")
  #expect(choice(webcam, V4L2Preferences(format: "YUYV", size: hd)) == "YUYV 1280x720 10")
  #expect(choice(webcam, V4L2Preferences(framesPerSecond: 60)) == "MJPG 1280x720 60")
  #expect(choice(webcam, V4L2Preferences(size: vga, framesPerSecond: 15)) == "YUYV 640x480 15")
  // A wish wins over what views would like.
  #expect(choice(webcam, V4L2Preferences(size: vga), size: fullHD) == "YUYV 640x480 30")
  #expect(choice([format("YU12", [(vga, [30])])], V4L2Preferences(format: "i420")) == "YU12 640x480 30")
}

@Test("a mode that a camera lacks is rejected with the ones that it has")
func refusals() {
  #expect(choice(webcam, V4L2Preferences(format: "NV12")) == "has no format 'NV12': there are YUYV, MJPG")
  #expect(
    choice(webcam, V4L2Preferences(size: Size(width: 641, height: 480)))
      == "does not offer 641x480: there are 640x480, 1280x720, 1920x1080")
  #expect(
    choice(webcam, V4L2Preferences(format: "YUYV", framesPerSecond: 25))
      == "does not offer 25 frames a second in YUYV: there are 5, 10, 15, 30")
  #expect(
    choice(webcam, V4L2Preferences(size: hd, framesPerSecond: 25))
      == "does not offer 25 frames a second at 1280x720: there are 5, 10, 30, 60")
  #expect(
    choice([format("BA81", []), format("Y10", [])])
      == "none of its formats is supported, not even by libv4lconvert: BA81, Y10")
  #expect(
    choice(webcam + [format("H264", [])], V4L2Preferences(format: "h264"))
      == "format 'h264' is not supported: there are YUYV, MJPG")
  #expect(choice([]).contains("no format"))
  #expect(choice([format("YUYV", [])]).contains("no size"))
}

@Test("sizes in steps are rounded up to the demand and stay within their range")
func stepwiseSizes() {
  let range = V4L2Camera.FrameSizes(
    minimum: Size(width: 32, height: 32), maximum: Size(width: 2592, height: 1944),
    step: Size(width: 16, height: 2), intervals: rates([30]))
  let formats = [V4L2Camera.Format(FourCC("YUYV"), sizes: [range])]

  #expect(choice(formats, size: Size(width: 641, height: 479)) == "YUYV 656x480 30")
  #expect(choice(formats, size: Size(width: 1, height: 1)) == "YUYV 32x32 30")
  #expect(choice(formats, size: Size(width: 9999, height: 9999)) == "YUYV 2592x1944 30")
  #expect(choice(formats) == "YUYV 1920x1080 30")
  #expect(choice(formats, V4L2Preferences(size: Size(width: 656, height: 480))) == "YUYV 656x480 30")
  #expect(
    choice(formats, V4L2Preferences(size: vga.transposed)) == "YUYV 480x640 30", "480 and 640 are whole steps"
  )
  #expect(
    choice(formats, V4L2Preferences(size: Size(width: 650, height: 480)))
      == "does not offer 650x480 in YUYV: there are 32x32...2592x1944 in steps of 16x2")
}

@Test("a video signal is captured at its own size, unless another size is demanded")
func scaledSignals() throws {
  let range = V4L2Camera.FrameSizes(
    minimum: Size(width: 16, height: 16), maximum: Size(width: 4096, height: 2160),
    step: Size(width: 2, height: 2),
    intervals: rates([60]))
  let formats = [V4L2Camera.Format(FourCC("YUYV"), sizes: [range])]

  let asItIs = try V4L2ModeSelection(
    formats, V4L2Preferences(), SourceOptions.Demand(), signal: Size(width: 720, height: 576))
  #expect(asItIs.size == Size(width: 720, height: 576))

  let scaled = try V4L2ModeSelection(
    formats, V4L2Preferences(), SourceOptions.Demand(minimumSize: vga), signal: fullHD)
  #expect(scaled.size == vga)
}

@Test("a rate within a range is used as demanded, and a mode without known rates is accepted")
func ranges() {
  let range = V4L2Camera.FrameIntervals(
    shortest: .init(numerator: 1, denominator: 60), longest: .init(numerator: 1, denominator: 1))
  let formats = [
    V4L2Camera.Format(FourCC("YUYV"), sizes: [V4L2Camera.FrameSizes(vga, intervals: [range])])
  ]
  #expect(choice(formats) == "YUYV 640x480 30")
  #expect(choice(formats, fps: 12.5) == "YUYV 640x480 12.5")
  #expect(choice(formats, fps: 100) == "YUYV 640x480 60")
  #expect(choice(formats, fps: 0.1) == "YUYV 640x480 1")
  #expect(choice([format("YUYV", [(vga, [])])], fps: 30) == "YUYV 640x480")
}

@Test("29.97 frames per second meets a request for 30")
func nearly() {
  let formats = [format("YUYV", [(vga, [29.97, 15])])]
  #expect(choice(formats, fps: 30) == "YUYV 640x480 29.97")
  #expect(choice(formats, V4L2Preferences(framesPerSecond: 30)) == "YUYV 640x480 29.97")
}

// MARK: Reference sizes

private let cropping = [
  format("YUYV", [(vga, [30]), (hd, [10]), (fullHD, [5])]),
  format("MJPG", [(hd, [30]), (Size(width: 2592, height: 1944), [2])]),
]

private func reference(
  _ formats: [V4L2Camera.Format], _ preferences: V4L2Preferences = V4L2Preferences(),
  signal: Size? = nil, maximumPixels: Int = 100_000_000
) -> String {
  V4L2ModeSelection.referenceSize(formats, preferences, signal: signal, maximumPixels: maximumPixels).map {
    "\($0)"
  }
    ?? "none"
}

@Test("a camera's reference size is the requested size, or else its largest usable one")
func referenceSizes() {
  #expect(reference(cropping) == "2592x1944")
  #expect(reference(cropping.reversed()) == "2592x1944")
  #expect(reference([format("YUYV", [(hd, [10]), (fullHD, [5]), (vga, [30])])]) == "1920x1080")
  #expect(reference(cropping, V4L2Preferences(size: hd)) == "1280x720")
  // What can't be read, or is not wished, is no size of it.
  #expect(reference([format("YUYV", [(vga, [30])]), format("H264", [(fullHD, [30])])]) == "640x480")
  #expect(reference(cropping, V4L2Preferences(format: "YUYV")) == "1920x1080")
  #expect(reference(cropping, V4L2Preferences(framesPerSecond: 30)) == "1280x720")
  #expect(reference(cropping, maximumPixels: fullHD.pixelCount) == "1920x1080")
  #expect(reference([]) == "none")
}

@Test("the reference size is a size range's maximum, or the video signal's own size")
func referenceRanges() {
  let range = [
    V4L2Camera.Format(
      FourCC("YUYV"),
      sizes: [
        V4L2Camera.FrameSizes(
          minimum: Size(width: 32, height: 32), maximum: fullHD, step: Size(width: 8, height: 8),
          intervals: [])
      ])
  ]

  #expect(reference(range) == "1920x1080")
  #expect(reference(range, signal: hd) == "1280x720")
}

@Test("a pinned size, or else the largest one of its aspect ratio, is used whatever is demanded")
func pinned() throws {
  func size(_ pinned: Size, _ demand: Size?, _ preferences: V4L2Preferences = V4L2Preferences()) throws
    -> Size
  {
    try V4L2ModeSelection(cropping, preferences, SourceOptions.Demand(minimumSize: demand), pinned: pinned)
      .size
  }

  for demand in [nil, Size(width: 4, height: 3), vga, hd, fullHD, Size(width: 65535, height: 65535)] {
    #expect(try size(hd, demand) == hd)
    #expect(try size(Size(width: 2592, height: 1944), demand) == Size(width: 2592, height: 1944))
    // A shape that it has in other sizes.
    #expect(try size(Size(width: 960, height: 540), demand) == fullHD)
    #expect(throws: V4L2Refusal.self) { try size(Size(width: 640, height: 640), demand) }
  }

  // In that size the quickest that serves, as ever.
  #expect(
    try V4L2ModeSelection(cropping, V4L2Preferences(), SourceOptions.Demand(), pinned: hd).fourCC
      == FourCC("MJPG"))
  #expect(throws: V4L2Refusal.self) { try size(hd, nil, V4L2Preferences(size: vga)) }
}
