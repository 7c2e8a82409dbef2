// The lens of a source, in the views that have a projection.
import Basics
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Lenses of sources")
struct SourceLensTests {
  private static let size = Size(width: 64, height: 48)
  private static let lens = Lens(.fisheye(), fov: 180, center: [31, 25])

  private static func plans(sawFrame: Bool = true) -> ViewPlans {
    var options = SourceOptions()
    options.lens = lens
    let plans = ViewPlans(of: options, memory: FramePool())
    if sawFrame { plans.sawFrame(of: size, reference: nil) }
    return plans
  }

  private static func format(_ frame: Size = size) -> Frame.Format {
    Frame.Format(.grey, frame, color: .jfif)
  }

  @Test("a view with a projection gets the lens of its source, unless it has its own")
  func views() throws {
    let plans = Self.plans()
    let other = Lens(.curve(.equisolid))
    let projection = Projection(yaw: 20)

    let view = ViewConfiguration(projection: projection)
    #expect(try plans.rescaled(view, for: Self.format()).lens == Self.lens)
    let own = ViewConfiguration(lens: other, projection: projection)
    #expect(try plans.rescaled(own, for: Self.format()).lens == other)
    let plain = ViewConfiguration(crop: Rectangle(x: 1, y: 2, width: 9, height: 9))
    #expect(try plans.rescaled(plain, for: Self.format()) == plain)
    #expect(try plans.rescaled(ViewConfiguration(), for: Self.format()) == ViewConfiguration())
  }

  @Test("a frame in which a tile's view can't be warped has an outage, with the reason")
  func refusals() throws {
    let plans = Self.plans()
    let bytes = [UInt8](repeating: 0, count: 64 * 48)
    let frame = try Frame(tight: Self.format(), bytes: bytes)
    let good = ViewConfiguration(projection: Projection(yaw: 20))
    let far = try ViewConfiguration(parsing: "a:corners=0,0 900,0 9,9 0,9")

    #expect(plans.refusal(of: [good], in: frame) == nil)
    let outage = plans.refusal(of: [good, far], in: frame)
    #expect(outage?.state == .lost && outage?.reason.contains("corners: 900,0") == true)
  }

  @Test("the pixels of a lens are those of the reference size, also in frames of another size")
  func sizes() throws {
    let plans = Self.plans()
    let view = ViewConfiguration(projection: Projection(hfov: 60))
    let half = Size(width: 32, height: 24)

    #expect(try plans.rescaled(view, for: Self.format(half)).lens?.size == Self.size)
    let corners = try ViewConfiguration(parsing: "a:corners=4,4 40,8 36,32 8,28")
    #expect(try plans.rescaled(corners, for: Self.format(half)).corners != corners.corners)
  }

  @Test("a warp that can't be located is refused by its key: before a frame, or in a frame of another shape")
  func unlocated() throws {
    for (words, key) in [
      ("yaw=1", "projection"), ("corners=0,0 9,0 9,9 0,9", "corners"), ("rotate=1.5", "rotate"),
      ("crop=9x9+0+0,rotate=1.5", "crop"),
    ] {
      let view = try ViewConfiguration(parsing: "a:\(words)")
      let early = #expect(throws: ParameterError.self) {
        try Self.plans(sawFrame: false).rescaled(view, for: Self.format())
      }
      #expect(early?.key == key)
      let square = #expect(throws: ParameterError.self) {
        try Self.plans().rescaled(view, for: Self.format(Size(width: 64, height: 64)))
      }
      #expect(square?.key == key)
    }
  }

  @Test("without its warp a view keeps its name, its size and its rotation by quarters")
  func unwarped() throws {
    for (words, rest) in [
      ("yaw=1,width=9", "width=9"), ("rotate=91.5,height=8", "rotate=90,height=8"),
      ("corners=0,0 9,0 9,9 0,9,mode=fit", "mode=fit"),
    ] {
      let view = try ViewConfiguration(parsing: "a:\(words)")
      #expect(view.isWarped && !view.unwarped.isWarped)
      #expect(try view.unwarped == ViewConfiguration(parsing: "a:\(rest)"))
    }
  }
}
