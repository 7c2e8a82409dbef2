// Rows out of drivers' buffers, worked out by hand.
import PreviewCore
import Testing

@testable import CaptureV4L2
@testable import GLPreview

private func samples(_ code: StaticString) throws -> V4L2Samples {
  guard case .samples(let samples) = try #require(V4L2PixelFormat(FourCC(code))) else {
    throw SourceError(.badData, path: "", reason: "no samples")
  }
  return samples
}

/// Copies `memory` as a driver would hand it over.
private func copied(_ layout: V4L2Layout, _ memory: [[UInt8]], expands: Bool = false) -> [UInt8] {
  var target = [UInt8](repeating: 0xEE, count: layout.byteCount)
  // All memory planes in one array, so that their pointers can be had at once.
  let all = memory.flatMap(\.self)
  unsafe all.withUnsafeBytes { bytes in
    var offset = 0
    var sources: [UnsafeRawBufferPointer] = unsafe []
    for plane in memory {
      unsafe sources.append(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + plane.count]))
      offset += plane.count
    }
    unsafe target.withUnsafeMutableBytes { unsafe layout.copy(sources, to: $0, expands: expands) }
  }
  return target
}

@Test("padding after rows, planes and the picture is not copied")
func padding() throws {
  // 4x2 of NV12 in rows of 6; chroma's rows are padded as much.
  let layout = try #require(
    V4L2Layout(samples("NV12"), Size(width: 4, height: 2), bytesPerLine: [6]))
  #expect(layout.neededByteCounts == [16])
  let memory: [UInt8] = [1, 2, 3, 4, 90, 91, 5, 6, 7, 8, 92, 93, 11, 12, 13, 14, 94, 95, 96, 97]
  #expect(copied(layout, [memory]) == [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14])
}

@Test("chroma strides of a planar format in one buffer follow from the luma stride")
func planar() throws {
  let layout = try #require(
    V4L2Layout(samples("YU12"), Size(width: 4, height: 2), bytesPerLine: [8]))
  #expect(layout.planes.map(\.offset) == [0, 16, 20])
  #expect(layout.planes.map(\.bytesPerRow) == [8, 4, 4])
  #expect(layout.neededByteCounts == [22])
  let quarter = try #require(V4L2Layout(samples("411P"), Size(width: 8, height: 2), bytesPerLine: [16]))
  #expect(quarter.planes.map(\.bytesPerRow) == [16, 4, 4])
  #expect(quarter.planes.map(\.offset) == [0, 32, 40])
}

@Test("separate memory planes have separate strides, and Cr before Cb is reordered")
func memoryPlanes() throws {
  let size = Size(width: 2, height: 2)
  let layout = try #require(V4L2Layout(samples("YM61"), size, bytesPerLine: [4, 2, 3]))
  #expect(layout.neededByteCounts == [6, 3, 4])
  // Cr comes before Cb there; ours is Cb, Cr.
  #expect(
    copied(layout, [[1, 2, 0, 0, 3, 4], [21, 0, 22], [11, 0, 0, 12]]) == [1, 2, 3, 4, 11, 12, 21, 22])
  #expect(try V4L2Layout(samples("NM12"), size, bytesPerLine: [2]) == nil)
  #expect(try V4L2Layout(samples("NV12"), size, bytesPerLine: [2, 2]) == nil)
}

@Test("a stride of 0 means rows without padding")
func noStride() throws {
  let layout = try #require(V4L2Layout(samples("YUYV"), Size(width: 3, height: 2), bytesPerLine: [0]))
  #expect(layout.planes.map(\.bytesPerRow) == [8])
  #expect(layout.neededByteCounts == [16])
  #expect(try V4L2Layout(samples("YUYV"), Size(width: 0, height: 2), bytesPerLine: [0]) == nil)
}

@Test("an unused fourth channel becomes opaque, and alpha is kept")
func alpha() throws {
  let size = Size(width: 1, height: 2)
  let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

  for code in ["XR24", "XB24", "BGR4"] as [StaticString] {
    let layout = try #require(V4L2Layout(samples(code), size, bytesPerLine: [4]))
    #expect(copied(layout, [bytes]) == [1, 2, 3, 255, 5, 6, 7, 255], "\(code)")
  }

  for code in ["AR24", "AB24"] as [StaticString] {
    let layout = try #require(V4L2Layout(samples(code), size, bytesPerLine: [4]))
    #expect(copied(layout, [bytes]) == bytes, "\(code)")
  }
}

@Test("R'G'B' of limited range is expanded to full range, and alpha is unchanged")
func limitedRGB() throws {
  let size = Size(width: 1, height: 2)
  let rgb = try #require(V4L2Layout(samples("RGB3"), size, bytesPerLine: [3]))
  #expect(copied(rgb, [[16, 235, 126, 0, 255, 17]], expands: true) == [0, 255, 128, 0, 255, 1])
  let rgba = try #require(V4L2Layout(samples("AB24"), size, bytesPerLine: [4]))
  #expect(
    copied(rgba, [[16, 235, 126, 16, 0, 255, 17, 128]], expands: true) == [0, 255, 128, 16, 0, 255, 1, 128])
}

@Test("sample formats have a byte count per 1000 pixels, and unsupported formats are nil")
func bytes() throws {
  let expected: [(StaticString, Int?)] = [
    ("NV12", 1500), ("YUYV", 2000), ("GREY", 1000), ("RGB3", 3000), ("XR24", 4000), ("422P", 2000),
    ("411P", 1500), ("YM24", 3000), ("MJPG", nil),
  ]

  for (code, bytes) in expected {
    #expect(try #require(V4L2PixelFormat(FourCC(code))).bytesPerThousandPixels == bytes, "\(code)")
  }

  for code in ["BA81", "Y10", "Y16", "H264", "P010", "RGBP", "VYUY", "NV61"] as [StaticString] {
    #expect(V4L2PixelFormat(FourCC(code)) == nil, "\(code)")
  }
}
