// Which camera is which.
import Testing

@testable import CaptureV4L2
@testable import GLPreview

private func usb(_ place: String, serial: String = "", product: String = "046d:082d", index: String = "0")
  -> V4L2Identity
{
  V4L2Identity(name: "HD Webcam", index: index, place: place, product: product, serial: serial)
}

private func platform(_ place: String, name: String = "vivid") -> V4L2Identity {
  V4L2Identity(name: name, index: "0", place: place, product: "", serial: "")
}

@Test("at the same place a camera matches, unless its product, serial, index or name differs")
func samePlace() {
  #expect(usb("/1").likeness(to: usb("/1")) == 3)
  #expect(usb("/1").likeness(to: usb("/1", product: "1:2")) == 0)
  #expect(usb("/1").likeness(to: usb("/1", serial: "B")) == 0)
  #expect(usb("/1").likeness(to: usb("/1", index: "1")) == 0)
  #expect(platform("/1").likeness(to: platform("/1")) == 3)
  #expect(platform("/1").likeness(to: platform("/1", name: "other")) == 0)
}

@Test("at another place a serial number identifies a camera, and its product is only a hint")
func otherPlace() {
  #expect(usb("/1", serial: "A").likeness(to: usb("/2", serial: "A")) == 2)
  #expect(usb("/1").likeness(to: usb("/2")) == 1)
  #expect(platform("/1").likeness(to: platform("/2")) == 0)
}

@Test("if several cameras match only by product, none is chosen")
func ambiguity() {
  #expect(V4L2Nodes.choose([]) == nil)
  #expect(V4L2Nodes.choose([("a", 0)]) == nil)
  #expect(V4L2Nodes.choose([("a", 0), ("b", 1)]) == "b")
  #expect(V4L2Nodes.choose([("a", 1), ("b", 1)]) == nil)
  #expect(V4L2Nodes.choose([("a", 1), ("b", 2), ("c", 1)]) == "b")
  #expect(V4L2Nodes.choose([("a", 3), ("b", 3)]) == "a")
}

@Test("a path that is not a camera has no identity, and its user is unknown")
func noCamera() async {
  #expect(V4L2Identity(of: "/dev/null") == nil)
  #expect(V4L2Identity(of: "/nonexistent") == nil)
  #expect(V4L2Diagnosis.holders(of: "/nonexistent") == "another process")
}
