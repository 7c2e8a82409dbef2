// What words for controls come to.
import Testing

@testable import CaptureV4L2
@testable import GLPreview

private func control(
  _ title: String, _ kind: CameraControl.Kind, _ range: ClosedRange<Int> = 0...0, step: Int = 1,
  items: [CameraControl.MenuItem] = [], flags: [String] = []
) -> CameraControl {
  CameraControl(
    name: CameraControl.name(of: title), title: title, kind: kind, minimum: range.lowerBound,
    maximum: range.upperBound, step: step, defaultValue: range.lowerBound, value: nil, items: items,
    flags: flags,
    id: 1, type: 1)
}

private let exposure = control(
  "Auto Exposure", .menu, 0...3,
  items: [.init(value: 1, name: "Manual Mode"), .init(value: 3, name: "Aperture Priority Mode")])
private let frequency = control(
  "Power Line", .integerMenu, 0...2, items: [.init(value: 0, name: "50"), .init(value: 2, name: "60")])

/// The value in a line, or why not.
private func value(_ control: CameraControl, _ text: String) -> String {
  do { return "\(try control.value(of: text))" } catch { return "\(error)" }
}

@Test(
  "control names are those of v4l2-ctl",
  arguments: [
    ("Brightness", "brightness"), ("Exposure Time, Absolute", "exposure_time_absolute"),
    ("White Balance, Automatic", "white_balance_automatic"), ("  Pan (Absolute) ", "pan_absolute"),
    ("Integer 32 Bits", "integer_32_bits"), ("Zoom\u{e9}x", "zoom_x"), ("", ""),
  ])
func names(title: String, name: String) {
  #expect(CameraControl.name(of: title) == name)
}

@Test("a number outside a control's range is rejected with the range")
func integers() {
  let brightness = control("Brightness", .integer, -64...64)
  #expect(value(brightness, "-64") == "-64")
  #expect(value(brightness, "0x10") == "16")
  for text in ["65", "-65", "bright", "", "1.5", "99999999999999999999"] {
    #expect(value(brightness, text) == "control brightness=\(text): it takes -64...64")
  }

  #expect(value(control("Pan", .integer, 0...9, step: 3), "10").hasSuffix("it takes 0...9 in steps of 3"))
  #expect(value(control("Long", .integer64, .min...Int.max), "-9223372036854775808") == "\(Int.min)")
  #expect(value(control("Bits", .bitmask, 0...0xF0), "0xf0") == "240")
  #expect(value(control("Bits", .bitmask, 0...0xF0), "-1").hasSuffix("it takes 0...240"))
}

@Test("a boolean control accepts 1, true, on, yes and their opposites")
func booleans() {
  let flip = control("Flip", .boolean, 0...1)
  for text in ["1", "true", "On", "YES"] { #expect(value(flip, text) == "1") }
  for text in ["0", "false", "off", "no"] { #expect(value(flip, text) == "0") }
  for text in ["2", "", "maybe"] { #expect(value(flip, text).hasSuffix("use true or false")) }
}

@Test("a menu control accepts an item's number or name")
func menus() {
  #expect(value(exposure, "1") == "1")
  #expect(value(exposure, "aperture priority mode") == "3")
  #expect(value(exposure, "Manual_Mode") == "1")
  for text in ["0", "2", "4", "Shutter", ""] {
    #expect(value(exposure, text).hasSuffix("use one of 1 (Manual Mode), 3 (Aperture Priority Mode)"))
  }

  #expect(value(frequency, "2") == "2")
  #expect(value(frequency, "60") == "2")
  #expect(value(frequency, "1").hasSuffix("use one of 0 (50), 2 (60)"))
}

@Test("a read-only, disabled or unsupported control can't be set")
func hindered() {
  #expect(value(control("Gain", .integer, 0...9, flags: ["read-only"]), "1").hasSuffix("it is read-only"))
  #expect(value(control("Gain", .integer, 0...9, flags: ["disabled"]), "1").hasSuffix("it is disabled"))
  #expect(value(control("Table", .other), "1").contains("can't be set"))
  #expect(value(control("Go", .button), "") == "1")
  #expect(CameraControl.flags(0x11) == ["disabled", "inactive"])
  #expect(CameraControl.flags(0) == [])
}

@Test("a control is found by its name, the driver's title, and its old or new name")
func finding() throws {
  let old = control("Exposure, Auto", .menu)
  #expect(try CameraControl.find("auto_exposure", in: [frequency, exposure]) == exposure)
  #expect(try CameraControl.find("Auto Exposure", in: [exposure]) == exposure)
  #expect(try CameraControl.find("exposure_auto", in: [exposure]) == exposure)
  #expect(try CameraControl.find("auto_exposure", in: [old]) == old)

  #expect(
    throws: V4L2Refusal("has no control 'focus': there are auto_exposure, power_line")
  ) { try CameraControl.find("focus", in: [exposure, frequency, control("Table", .other)]) }
  #expect(throws: V4L2Refusal("has no control 'focus': it has none that can be set")) {
    try CameraControl.find("focus", in: [])
  }
}
