// Reduces rendered pictures on the CPU, so that a picture with a size limit need not be rendered again.

/// Makes smaller versions of a picture by area means, rounded once.
struct PictureScaler {
  private let picture: Picture

  /// `picture` must have Y'CbCr planes.
  init(_ picture: Picture) { self.picture = picture }

  /// The picture reduced to `size`, which must not exceed its own.
  func scaled(to size: Size) -> Picture {
    guard size != picture.size, case .ycbcr(let chroma, _) = picture.format else { return picture }
    var bytes = [UInt8](
      repeating: 0, count: picture.format.planeSizes(of: size).reduce(0) { $0 + $1.pixelCount })
    var offset = 0
    for (index, target) in picture.format.planeSizes(of: size).enumerated() {
      let sampling = index == 0 ? Subsampling.none : chroma.subsampling
      let columns = ScaledAxis(
        picture.size.width, to: size.width, samples: picture.planes[index].size.width, of: sampling.x)
      let rows = ScaledAxis(
        picture.size.height, to: size.height, samples: picture.planes[index].size.height, of: sampling.y)
      assert(columns.areas.count == target.width && rows.areas.count == target.height)
      write(picture.planes[index], columns, rows, to: &bytes, at: offset)
      offset += target.pixelCount
    }
    return Picture(tight: size, format: picture.format, bytes: bytes)
  }

  private func write(
    _ plane: Picture.Plane, _ columns: ScaledAxis, _ rows: ScaledAxis, to bytes: inout [UInt8], at offset: Int
  ) {
    let width = plane.size.width
    let source = picture.bytes.span
    var sums = [UInt32](repeating: 0, count: width)
    var output = bytes.mutableSpan
    for (index, area) in rows.areas.enumerated() {
      var row = sums.mutableSpan
      for x in 0..<width { row[x] = 0 }
      for line in area.first...area.last {
        let start = plane.offset + line * plane.bytesPerRow
        row.add(source.extracting(start..<start + width), times: UInt32(area.weight(of: line)))
      }
      columns.writeMeans(
        of: sums.span, times: area.total, to: &output, at: offset + index * columns.areas.count)
    }
  }
}

extension MutableSpan<UInt32> {
  /// Adds `weight` times each of `samples`, which has the same count.
  @inline(__always)
  fileprivate mutating func add(_ samples: Span<UInt8>, times weight: UInt32) {
    for x in 0..<count { self[x] &+= UInt32(samples[x]) &* weight }
  }
}

/// The samples averaged by each output along one axis. Weights are integers: only the final rounding is
/// inexact.
private struct ScaledAxis {
  /// The samples of one output; the first and last may be partly covered.
  struct Area {
    let first: Int
    let last: Int
    let firstWeight: Int
    let innerWeight: Int
    let lastWeight: Int

    var total: Int {
      first == last ? firstWeight : firstWeight + innerWeight * (last - first - 1) + lastWeight
    }

    func weight(of sample: Int) -> Int {
      sample == first ? firstWeight : sample == last ? lastWeight : innerWeight
    }
  }

  let areas: [Area]

  /// Reduces `source` pixels to `target`, for a plane of `samples` that stand for `sampling` pixels each; at
  /// an odd edge, the last stands for fewer.
  init(_ source: Int, to target: Int, samples: Int, of sampling: Int) {
    // Output k covers k * source ..< (k + 1) * source, sample k covers k * target ..< (k + 1) * target.
    areas = (0..<(target - 1) / sampling + 1).map { output in
      let start = output * source
      let end = min(start + source, samples * target)
      let first = start / target
      let last = (end - 1) / target
      return Area(
        first: first, last: last, firstWeight: min(end, (first + 1) * target) - start, innerWeight: target,
        lastWeight: end - last * target)
    }
  }

  /// `sums` holds the samples multiplied by `rowTotal`.
  func writeMeans(
    of sums: Span<UInt32>, times rowTotal: Int, to output: inout MutableSpan<UInt8>, at offset: Int
  ) {
    let areas = areas.span
    for index in areas.indices {
      let area = areas[index]
      var sum = UInt64(sums[area.first]) &* UInt64(truncatingIfNeeded: area.firstWeight)
      if area.last > area.first {
        var inner: UInt64 = 0
        var column = area.first &+ 1
        while column < area.last {
          inner &+= UInt64(sums[column])
          column &+= 1
        }
        sum &+= inner &* UInt64(truncatingIfNeeded: area.innerWeight)
        sum &+= UInt64(sums[area.last]) &* UInt64(truncatingIfNeeded: area.lastWeight)
      }
      // The quotient is below 256 and at least 2^-34 below the next integer, which doubles can represent.
      let total = Double(rowTotal &* area.total)
      let mean = (2 * Double(Int64(truncatingIfNeeded: sum)) + total) / (2 * total)
      output[offset &+ index] = UInt8(truncatingIfNeeded: Int(mean))
    }
  }
}

extension Picture {
  /// The picture as JFIF's 4:2:0 Y'CbCr. Cb and Cr are the means of four pixels; at odd edges, the edge
  /// pixels count twice.
  var ycbcr: Picture {
    guard case .rgba = format, let plane = planes.first else { return self }
    let half = Subsampling(x: 2, y: 2).planeSize(of: size)
    func isOddEnd(_ index: Int, _ count: Int) -> Bool { index == count - 1 && count % 2 == 1 }
    var luma = [UInt8](repeating: 0, count: size.pixelCount)
    var sums = [SIMD2<Double>](repeating: .zero, count: half.pixelCount)
    for y in 0..<size.height {
      for x in 0..<size.width {
        let at = plane.offset + y * plane.bytesPerRow + 4 * x
        let (red, green, blue) = (Double(bytes[at]), Double(bytes[at + 1]), Double(bytes[at + 2]))
        // T.871, 7.
        luma[y * size.width + x] = UInt8(0.299 * red + 0.587 * green + 0.114 * blue + 0.5)
        let weight = (isOddEnd(x, size.width) ? 2 : 1) * (isOddEnd(y, size.height) ? 2 : 1)
        sums[y / 2 * half.width + x / 2] +=
          Double(weight) * [
            -0.168_735_892 * red - 0.331_264_108 * green + 0.5 * blue,
            0.5 * red - 0.418_687_589 * green - 0.081_312_411 * blue,
          ]
      }
    }
    func chroma(_ channel: Int) -> [UInt8] { sums.map { UInt8(min($0[channel] / 4 + 128.5, 255)) } }
    return Picture(tight: size, format: .ycbcr(.yuv420), bytes: luma + chroma(0) + chroma(1))
  }
}
