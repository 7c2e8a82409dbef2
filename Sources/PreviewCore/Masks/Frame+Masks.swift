// Burns masks into a frame's samples. The samples behind a mask are lost.

extension Frame {
  /// Replaces the samples that `plan` hides: in place if this frame alone holds its memory, otherwise in a
  /// copy.
  ///
  /// `plan` must have been made for this frame's format.
  package consuming func masked(by plan: MaskPlan) -> Frame {
    precondition(plan.format == format, "a plan is for frames of its own format")
    guard !plan.steps.isEmpty else { return self }
    // Move the bytes out of the frame, so that this is their only holder and they are not copied.
    var storage = self.storage
    let rest = with(storage: FrameBytes([]))
    _ = consume self
    storage.withMutableSpan { bytes in
      for step in plan.steps {
        let components = plan.format.pixelFormat.components
        for (index, component) in components.enumerated() {
          let samples = ComponentSamples(component, plan.format.pixelFormat, rest.planes)
          let region = step.region(of: component.subsampling)
          switch step.effect {
          case .fill(let codes): samples.fill(region, with: codes[index], &bytes)
          case .cells(let columns, let rows, let drawing):
            var cells = MaskCells(region, columns: columns, rows: rows)
            cells.add(samples, bytes.span)
            switch drawing {
            case .flat: cells.drawFlat(samples, &bytes)
            case .smooth: cells.drawSmooth(samples, &bytes)
            }
          }
        }
      }
    }
    return rest.with(storage: storage)
  }
}

/// The positions of one component's samples in a frame's bytes.
struct ComponentSamples {
  private let offset: Int
  private let bytesPerRow: Int
  /// Bytes from one sample to the next in a row.
  let step: Int
  private let isWide: Bool

  init(_ component: Component, _ format: PixelFormat, _ planes: [Frame.Plane]) {
    let texel = format.planes[component.plane].texel
    bytesPerRow = planes[component.plane].bytesPerRow
    offset =
      planes[component.plane].offset + component.texelOffset * texel.byteCount
      + component.channel * texel.bytesPerChannel
    step = component.texelStep * texel.byteCount
    isWide = texel.bytesPerChannel == 2
  }

  func position(_ row: Int, _ column: Int) -> Int { offset + row * bytesPerRow + column * step }

  /// Returns the sample's code at a byte position.
  @inline(__always)
  func code(at position: Int, _ bytes: Span<UInt8>) -> Int {
    guard isWide else { return Int(bytes[position]) }
    let (first, second) = (UInt16(bytes[position]), UInt16(bytes[position + 1]))
    return Int(UInt16(bigEndian: 1) == 1 ? first << 8 | second : second << 8 | first)
  }

  @inline(__always)
  func set(_ code: Int, at position: Int, _ bytes: inout MutableSpan<UInt8>) {
    guard isWide else {
      bytes[position] = UInt8(truncatingIfNeeded: code)
      return
    }
    let isBig = UInt16(bigEndian: 1) == 1
    bytes[position] = UInt8(truncatingIfNeeded: isBig ? code >> 8 : code)
    bytes[position + 1] = UInt8(truncatingIfNeeded: isBig ? code : code >> 8)
  }

  func fill(_ region: MaskRegion, with code: Int, _ bytes: inout MutableSpan<UInt8>) {
    for span in region.spans { fill(span.row, span.columns, with: code, &bytes) }
  }

  func fill(_ row: Int, _ columns: Range<Int>, with code: Int, _ bytes: inout MutableSpan<UInt8>) {
    var position = position(row, columns.lowerBound)
    if step == 1 {
      var samples = bytes._mutatingExtracting(position..<position + columns.count)
      samples.update(repeating: UInt8(truncatingIfNeeded: code))
      return
    }
    for _ in columns {
      set(code, at: position, &bytes)
      position &+= step
    }
  }
}
