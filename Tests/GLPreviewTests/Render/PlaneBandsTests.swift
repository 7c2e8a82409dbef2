// Planes that are larger than a texture can be: the arithmetic, and the shaders that do the same.
import Testing

@testable import GLPreview

@Test("a plane within the texture limit is one band")
func oneBand() {
  let bands = PlaneBands(Size(width: 100, height: 50), maximumSide: 128)
  #expect(!bands.isNeeded)
  #expect(bands.textureSize == Size(width: 100, height: 50))
  #expect(bands.all.count == 1)
}

@Test("a plane that is too wide is split into bands of columns, stacked vertically")
func wide() {
  let bands = PlaneBands(Size(width: 300, height: 10), maximumSide: 128)
  #expect(bands.textureSize == Size(width: 128, height: 30))
  #expect(
    bands.all.map(\.source) == [
      Rectangle(x: 0, y: 0, width: 128, height: 10), Rectangle(x: 128, y: 0, width: 128, height: 10),
      Rectangle(x: 256, y: 0, width: 44, height: 10),
    ])
  #expect(bands.all.map(\.target.y) == [0, 10, 20])
}

@Test("a plane that is too high is split into bands of rows, placed side by side")
func high() {
  let bands = PlaneBands(Size(width: 10, height: 300), maximumSide: 200)
  #expect(bands.textureSize == Size(width: 30, height: 128))
  #expect(bands.all.map(\.target.x) == [0, 10, 20])
}

@Test(
  "a frame wider than a texture is drawn the same as a crop of a narrow frame",
  arguments: [PixelFormat.nv12, .rgb24, .yuyv])
func drawnFromBands(pixelFormat: PixelFormat) async throws {
  let device = try await GPUDevice.chooseForGL()
  let limit = device.tuning.maximumTargetSide
  let renderer = try await GLRenderer.open(
    on: device, tuning: RenderTuning(maximumTargetSide: limit, boxes: .texels))
  let format = Frame.Format(
    pixelFormat, Size(width: limit + 7, height: 3),
    color: ColorDescription(matrix: .bt601, range: .full, siting: .left))
  let count = try #require(pixelFormat.tightByteCount(of: format.size))
  let frame = try Frame(tight: format, bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 / 7) })

  // The same pixels by a crop of a narrow frame: the last columns, whatever band they stand in.
  let crop = Rectangle(x: limit - 3, y: 0, width: 10, height: 3)
  let view = ViewConfiguration(crop: crop, filter: .nearest)
  let plan = try renderer.plan(format, [view], as: .rgba)
  let picture = try await renderer.render(frame, plan)[0]

  var narrow: [UInt8] = []
  for (plane, description) in zip(frame.planes, pixelFormat.planes) {
    let bytesPerSample = description.texel.byteCount * description.texelsPerColumn
    let first = (limit - 4) / description.subsampling.x * bytesPerSample
    for row in 0..<description.texels(of: format.size).height {
      let start = plane.offset + row * plane.bytesPerRow
      narrow += frame.bytes[start + first..<start + plane.bytesPerRow]
    }
  }

  let narrowFormat = Frame.Format(pixelFormat, Size(width: 11, height: 3), color: format.color)
  let narrowFrame = try Frame(tight: narrowFormat, bytes: narrow)
  let narrowView = ViewConfiguration(crop: Rectangle(x: 1, y: 0, width: 10, height: 3), filter: .nearest)
  let narrowPlan = try renderer.plan(narrowFormat, [narrowView], as: .rgba)
  let expected = try await renderer.render(narrowFrame, narrowPlan)[0]

  #expect(picture.bytes == expected.bytes)
  await renderer.close()
}

@Test(
  "frames with rows too long for packed texels are drawn with correct values",
  arguments: [PixelFormat.yuyv, .nv12])
func rowsTooLongToPack(pixelFormat: PixelFormat) async throws {
  let device = try await GPUDevice.chooseForGL()
  let limit = device.tuning.maximumTargetSide
  let renderer = try await GLRenderer.open(
    on: device, tuning: RenderTuning(maximumTargetSide: limit, boxes: .texels))
  // One code everywhere, so that every sample of the picture is known.
  let format = Frame.Format(pixelFormat, Size(width: limit * 2 + 100, height: 2), color: .jfif)
  let count = try #require(pixelFormat.tightByteCount(of: format.size))
  let frame = try Frame(tight: format, bytes: [UInt8](repeating: 128, count: count))
  let view = ViewConfiguration(width: limit / 4, height: 2, contentMode: .stretch)
  let plan = try renderer.plan(format, [view], as: .ycbcr(.yuv420))

  let picture = try await renderer.render(frame, plan)[0]

  #expect(
    picture.planes.allSatisfy { plane in
      (0..<plane.size.height).allSatisfy { row in
        let start = plane.offset + row * plane.bytesPerRow
        return picture.bytes[start..<start + plane.size.width].allSatisfy { $0 == 128 }
      }
    })
  await renderer.close()
}

/// A frame that is brighter from left to right.
private func ramp(_ pixelFormat: PixelFormat, _ size: Size) throws -> Frame {
  let bytes = try #require(pixelFormat.planes.first).tightBytesPerRow(of: size) / size.width
  var row: [UInt8] = []
  for x in 0..<size.width {
    for byte in 0..<bytes { row.append(byte == 3 ? 255 : UInt8(x * 255 / (size.width - 1))) }
  }
  var rows: [UInt8] = []
  rows.reserveCapacity(row.count * size.height)
  for _ in 0..<size.height { rows += row }
  return try Frame(tight: Frame.Format(pixelFormat, size, color: .jfif), bytes: rows)
}

/// The red of four columns that show the whole frame, by each filter.
private func fourColumns(_ frame: Frame, _ filters: [Filter]) async throws -> [[UInt8]] {
  let renderer = try await GLRenderer.open(on: GPUDevice.chooseForGL())
  let views = filters.map { ViewConfiguration(width: 4, height: 1, contentMode: .stretch, filter: $0) }
  let plan = try renderer.plan(frame.format, views, as: .rgba, maximumPixels: .max)
  let pictures = try await renderer.render(frame, plan)
  await renderer.close()
  return pictures.map { picture in (0..<4).map { picture.bytes[$0 * 4] } }
}

@Test(
  "area and Lanczos filters work on rows wider than a texture", arguments: [PixelFormat.rgba, .rgb24],
  [Filter.area, .lanczos])
func wideSums(pixelFormat: PixelFormat, filter: Filter) async throws {
  let limit = try await GPUDevice.chooseForGL().tuning.maximumTargetSide
  let frame = try ramp(pixelFormat, Size(width: min(limit * 3, Size.maximumSide), height: 2))

  let columns = try await fourColumns(frame, [filter])[0]

  // The middles of the four quarters.
  for (column, code) in zip(columns, [32.0, 96, 159, 223]) { #expect(abs(Double(column) - code) <= 3) }
}

@Test("a 12288x11000 frame is drawn with correct values by the nearest and area filters")
func hugeFrame() async throws {
  let frame = try ramp(.grey, Size(width: 12288, height: 11000))
  let filters = [Filter.nearest, .area]

  let drawings = try await fourColumns(frame, filters)

  try #require(drawings.count == filters.count)
  for (filter, columns) in zip(filters, drawings) {
    for (column, code) in zip(columns, [32.0, 96, 159, 223]) {
      #expect(abs(Double(column) - code) <= 3, "\(filter)")
    }
  }
}
