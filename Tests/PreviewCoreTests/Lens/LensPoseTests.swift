// Poses of views through a lens: between two of them, and changed by positions and differences.
import Testing

@testable import PreviewCore

@Suite("Poses of lens views")
struct LensPoseTests {
  @Test("a pose between two others changes evenly in all four numbers")
  func between() {
    let first = LensPose(yaw: 10, pitch: -20, roll: 4, hfov: 90)
    let last = LensPose(yaw: 30, pitch: 20, roll: 0, hfov: 50)

    let middle = first.interpolated(to: last, at: 0.25)
    #expect(middle == LensPose(yaw: 15, pitch: -10, roll: 3, hfov: 80))
    #expect(first.interpolated(to: last, at: 0) == first)
    #expect(first.interpolated(to: last, at: -1) == first)
    #expect(first.interpolated(to: last, at: 1) == last)
    #expect(first.interpolated(to: last, at: 2) == last)
  }

  @Test(
    "yaw and roll go the shorter way round",
    arguments: [
      (170.0, -170.0, 0.5, 180.0), (-170, 170, 0.25, -175), (350, 10, 0.25, -5), (10, 350, 0.75, -5),
      (-350, 350, 0.5, 0), (360, -360, 0.5, 0), (0, 180, 0.5, 90),
    ])
  func shorterWay(first: Double, last: Double, part: Double, middle: Double) {
    let one = LensPose(yaw: first, roll: first)
    let pose = one.interpolated(to: LensPose(yaw: last, roll: last), at: part)
    // 180 and -180 are one direction.
    #expect(abs((pose.yaw - middle).remainder(dividingBy: 360)) < 1e-9)
    #expect(pose.roll == pose.yaw && (-180...180).contains(pose.yaw))
  }

  @Test("a field of view that only one pose has changes at the end")
  func fields() {
    let (without, with) = (LensPose(), LensPose(hfov: 40))
    #expect(without.interpolated(to: with, at: 0.9).hfov == nil)
    #expect(without.interpolated(to: with, at: 1).hfov == 40)
    #expect(with.interpolated(to: without, at: 0.9).hfov == 40)
    #expect(with.interpolated(to: without, at: 1).hfov == nil)
  }

  @Test("a position changes the numbers that it has")
  func positions() throws {
    var position = PoseChange()
    #expect(position.isEmpty)
    try position.set("yaw", to: 60)
    try position.set("hfov", to: 40)
    #expect(!position.isEmpty && position["pitch"] == nil)
    let pose = position.applied(to: LensPose(yaw: 1, pitch: 2, roll: 3))
    #expect(pose == LensPose(yaw: 60, pitch: 2, roll: 3, hfov: 40))
  }

  @Test("differences wrap yaw and roll round, and keep pitch and field of view within their bounds")
  func differences() throws {
    var change = PoseChange()
    for (key, number) in [("yaw", 30.0), ("roll", -30), ("pitch", 300), ("hfov", 200)] {
      try change.set(key, toDifference: number)
    }
    let pose = LensPose(yaw: 170, pitch: 100, roll: -170, hfov: 90)
    #expect(change.added(to: pose, as: .flat) == LensPose(yaw: -160, pitch: 360, roll: 160, hfov: 179))
    #expect(change.added(to: pose, as: .cylinder).hfov == 290)
    #expect(change.added(to: LensPose(), as: .flat).hfov == nil)
    var less = PoseChange()
    try less.set("hfov", toDifference: -200)
    #expect(less.added(to: pose, as: .flat) == LensPose(yaw: 170, pitch: 100, roll: -170, hfov: 1))
  }

  @Test("numbers out of bounds and unknown keys are refused by their keys")
  func bounds() {
    for (key, number) in [
      ("yaw", 361.0), ("pitch", -361.0), ("roll", Double.nan), ("hfov", 0.0), ("hfov", Double.infinity),
      ("fov", 9.0),
    ] {
      let error = #expect(throws: ParameterError.self) {
        var change = PoseChange()
        try change.set(key, to: number)
      }
      #expect(error?.key == key)
    }
    let wide = #expect(throws: ParameterError.self) { try LensPose(hfov: 180).check(as: .flat) }
    #expect(wide?.key == "hfov")
    #expect(throws: Never.self) { try LensPose(hfov: 180).check(as: .cylinder) }
  }

  @Test("the field of view of a view without one is that of its picture, where that needs no size")
  func usualFields() throws {
    let size = Size(width: 64, height: 48)
    let half = Rectangle(x: 0, y: 0, width: 32, height: 48)
    func field(_ shape: Projection.Shape, _ lens: String, _ crop: Rectangle?, _ size: Size?) throws -> Double?
    {
      try Projection(shape).usualField(through: Lens(parsing: lens), crop: crop, in: size)
    }
    #expect(try field(.flat, "fisheye fov 190", nil, nil) == 90)
    #expect(try field(.cylinder, "pinhole fov 70", nil, nil) == 180)
    #expect(try field(.flat, "pinhole fov 70", nil, nil) == nil)
    let whole = try #require(try field(.flat, "pinhole fov 70", nil, size))
    let part = try #require(try field(.flat, "pinhole fov 70", half, size))
    #expect(abs(whole - 70) < 1e-9 && part < whole)
  }
}
