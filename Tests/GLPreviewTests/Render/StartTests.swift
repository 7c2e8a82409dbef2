// What a renderer makes before and for its first picture: nothing that it does not use.
import Testing

@testable import GLPreview

extension GLRenderer {
  /// What of OpenGL lives on its thread.
  fileprivate func ledger() -> [GLLedger.Kind: Int] { GLLedger.livingOnThisThread }
}

@Suite struct StartTests {
  @Test(
    "a renderer opens on the chosen device with one context and no programs",
    arguments: [
      GPUDevice.Choice.automatic, .software,
    ])
  func open(choice: GPUDevice.Choice) async throws {
    let renderer = try await GLRenderer.open(choice)
    #expect(await renderer.ledger() == [.context: 1])
    #expect(try await GPUDevice.chooseForGL(choice) == renderer.device)
    await renderer.close()
    #expect(await renderer.ledger() == [:])
  }

  @Test("GLRenderer.open and GPUDevice.choose throw the same error for a missing device")
  func noDevice() async throws {
    for choice in [GPUDevice.Choice.node("/dev/no-gpu"), .index(4711)] {
      let error = try await #require(throws: DeviceError.self) { try await GLRenderer.open(choice) }
      #expect(await #expect(throws: DeviceError.self) { try await GPUDevice.chooseForGL(choice) } == error)
    }
  }

  @Test("both ways to open a renderer draw the same picture, with 3 programs for a JPEG view")
  func samePicture() async throws {
    let frame = try JPEGDecoder.decode(
      smallJPEG(Size(width: 192, height: 108)), maximumPixels: 1 << 20)
    let view = ViewConfiguration(width: 64)
    var pictures: [[Picture]] = []

    for renderer in [try await GLRenderer.open(), try await GLRenderer.open(on: chosenDevice.value)] {
      let plan = try renderer.plan(frame.format, [view], as: .ycbcr(.yuv420))
      pictures.append(try await renderer.render(frame, plan))
      // Rows of any plane, columns of Y', and columns of Cb and Cr.
      #expect(await renderer.ledger()[.program] == 3)
      await renderer.close()
    }

    #expect(pictures[0] == pictures[1])
  }
}
