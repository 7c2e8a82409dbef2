// Cameras' names as they are typed.
import PreviewCore
import Testing

@testable import CaptureV4L2
@testable import GLPreview

private func reason(_ text: String) -> SourceError? {
  do {
    _ = try V4L2Locator(text)
    return nil
  } catch { return error }
}

@Test("a camera's name may have format, size and rate, in any order")
func cameraNames() throws {
  let plain = try V4L2Locator("/dev/video0")
  #expect(plain.path == "/dev/video0")
  #expect(plain.preferences == V4L2Preferences())

  let full = try V4L2Locator("/dev/video2,format=YUYV,size=1280x720,fps=29.97")
  #expect(full.path == "/dev/video2")
  #expect(
    full.preferences
      == V4L2Preferences(format: "YUYV", size: Size(width: 1280, height: 720), framesPerSecond: 29.97))
  #expect(try V4L2Locator("/dev/video2,fps=29.97,SIZE=1280X720,format=YUYV") == full)
}

@Test("a comma in a udev link is part of the camera's path")
func camerasWithCommas() throws {
  let link = "/dev/v4l/by-id/usb-Acme,_Inc._Cam-video-index0"
  #expect(try V4L2Locator(link).path == link)
  let sized = try V4L2Locator(link + ",size=64x48")
  #expect(sized.path == link)
  #expect(sized.preferences.size == Size(width: 64, height: 48))
}

@Test(
  "an invalid setting in a camera's name is rejected with a hint of what is valid",
  arguments: [
    ("/dev/video0,size=640", "WxH"), ("/dev/video0,size=0x480", "WxH"),
    ("/dev/video0,size=640x480x3", "WxH"), ("/dev/video0,size=-1x9", "WxH"),
    ("/dev/video0,size=99999999999999999999x1", "WxH"), ("/dev/video0,fps=0", "0.001...1000"),
    ("/dev/video0,fps=nan", "0.001...1000"), ("/dev/video0,fps=fast", "0.001...1000"),
    ("/dev/video0,colour=red", "known: format, size, fps"), ("/dev/video0,", "KEY=VALUE"),
    ("/dev/video0,fps=30,", "KEY=VALUE"), ("/dev/video0,fps=30,now", "KEY=VALUE"),
    ("/dev/video0,format=", "YUYV"),
  ])
func badCameraNames(text: String, hint: String) throws {
  let error = try #require(reason(text))
  #expect(error.kind == .badRequest)
  #expect(error.path == text)
  #expect(error.reason.contains(hint), "\(error)")
}

@Test("a FourCC is formatted as by v4l2-ctl")
func fourCCs() {
  #expect(FourCC("YUYV").code == 0x5659_5559)
  #expect(FourCC("YUYV").description == "YUYV")
  #expect(FourCC("Y16").description == "Y16")
  #expect(FourCC("Y16").code == 0x2036_3159)
  #expect(FourCC(code: 0xA036_3159).description == "Y16 -BE")
  #expect(FourCC(code: 0x0001_4142).description == "BA??")
}
