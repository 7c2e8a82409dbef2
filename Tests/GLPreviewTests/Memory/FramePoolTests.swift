// Memory of frames: used again, the GPU's where it can be read in place, and sound when its mappedMemory is gone.
import PreviewCore
import Testing

@testable import Basics
@testable import GLPreview

private func fill(_ buffer: FrameBuffer, with byte: UInt8) {
  unsafe buffer.write { bytes in for index in bytes.indices { unsafe bytes[index] = byte } }
}

@Test("memory of a released buffer is reused, and memory still in use is not")
func memoryIsUsedAgain() throws {
  let pool = FramePool()
  var first: FrameBuffer? = try pool.take(1000)
  let memory = first.map { ObjectIdentifier($0.memory) }
  let second = try pool.take(1000)
  #expect(ObjectIdentifier(second.memory) != memory)
  first = nil
  #expect(ObjectIdentifier(try pool.take(1000).memory) == memory)
}

@Test("a change of the frame size frees idle memory of other sizes")
func sizesChange() throws {
  let pool = FramePool()
  weak var old: FrameMemory?
  do { old = try pool.take(1000).memory }
  #expect(old != nil)

  let other = try pool.take(2000)
  #expect(other.byteCount == 2000 && old == nil && pool.byteCount == 2000)

  // What comes back late is of no use either.
  do {
    let late = try pool.take(3000)
    old = late.memory
    _ = try pool.take(2000)
  }
  #expect(old == nil)
}

@Test("a pool keeps at most seven released buffers")
func poolsAreBounded() throws {
  let pool = FramePool()
  var held = try (0..<20).map { _ in try pool.take(64) }
  let all = held.map { WeakMemory(memory: $0.memory) }
  held = []
  #expect(all.count { $0.memory != nil } == 7)
}

private struct WeakMemory {
  weak var memory: FrameMemory?
}

@Test("a frame reads back the bytes written to its buffer")
func bytesOfAFrame() throws {
  let buffer = try FramePool().take(6)
  unsafe buffer.write { bytes in for index in bytes.indices { unsafe bytes[index] = UInt8(index) } }
  let frame = try Frame(
    tight: Frame.Format(.rgb24, Size(width: 2, height: 1), color: .jfif), storage: FrameBytes(buffer))
  #expect(frame.bytes == [0, 1, 2, 3, 4, 5])
  #expect(frame.storage.withSpan { $0.count } == 6)
}

@Suite("Frame memory mapped from the GPU")
struct LentMemoryTests {
  private let size = Size(width: 64, height: 32)

  private func frame(_ pool: FramePool, _ byte: UInt8) throws -> Frame {
    let format = Frame.Format(.nv12, size, color: .jfif)
    let buffer = try pool.take(size.pixelCount * 3 / 2)
    fill(buffer, with: byte)
    return try Frame(tight: format, storage: FrameBytes(buffer))
  }

  private func luma(_ renderer: GLRenderer, _ frame: Frame) async throws -> UInt8 {
    let view = try ViewConfiguration(parsing: "a:size=16x8")
    let plan = try renderer.plan(frame.format, [view], as: .ycbcr(.yuv420))
    let picture = try await renderer.render(frame, plan)[0]
    let plane = picture.planes[0]
    let codes = Set((0..<16).map { picture.bytes[plane.offset + $0] })
    #expect(codes.count == 1)
    return codes.first ?? 0
  }

  @Test("frames in reused GPU memory are drawn with their own contents")
  func framesInLentMemory() async throws {
    let device = try await GPUDevice.chooseForGL(.automatic)
    let renderer = try await GLRenderer.open(
      on: device, tuning: RenderTuning(maximumTargetSide: 2048, boxes: .words))
    let pool = FramePool()
    await renderer.lendMemory(to: pool)
    var wereLent = 0

    for number in 0..<40 {
      let frame = try frame(pool, UInt8(100 + number))
      if (frame.storage.memory as? FrameBuffer)?.memory.isLent == true { wereLent += 1 }
      #expect(try await luma(renderer, frame) == UInt8(100 + number))
    }

    // The first two are there before the renderer knows what to lend, and one more before it knows that the last frame
    // is held while the next one is made.
    let canLend = try await withContext { TexelBuffer.canStayMapped }
    #expect(wereLent == (canLend ? 37 : 0))
    await renderer.close()
  }

  @Test("a renderer maps only as many buffers as are in use at once")
  func lentMemory() async throws {
    let device = try await GPUDevice.chooseForGL(.automatic)
    let renderer = try await GLRenderer.open(
      on: device, tuning: RenderTuning(maximumTargetSide: 2048, boxes: .words))
    let pool = FramePool()
    await renderer.lendMemory(to: pool)
    var lent: Set<ObjectIdentifier> = []
    var held: [Frame] = []

    for number in 0..<40 {
      let frame = try frame(pool, UInt8(100 + number))
      if let memory = (frame.storage.memory as? FrameBuffer)?.memory, memory.isLent {
        lent.insert(ObjectIdentifier(memory))
      }
      _ = try await luma(renderer, frame)
      held = held.suffix(1) + [frame]
    }

    let canLend = try await withContext { TexelBuffer.canStayMapped }
    #expect(lent.count == (canLend ? 3 : 0))
    await renderer.close()
  }

  @Test("a frame in GPU memory stays valid after its renderer closes, and another renderer draws it")
  func framesOutliveTheirLender() async throws {
    let device = try await GPUDevice.chooseForGL(.automatic)
    let tuning = RenderTuning(maximumTargetSide: 2048, boxes: .words)
    let pool = FramePool()
    let first = try await GLRenderer.open(on: device, tuning: tuning)
    await first.lendMemory(to: pool)
    for byte: UInt8 in 10...14 { _ = try await luma(first, frame(pool, byte)) }
    let kept = try frame(pool, 77)
    let canLend = try await withContext { TexelBuffer.canStayMapped }
    #expect((kept.storage.memory as? FrameBuffer)?.memory.isLent == canLend)

    await first.close()
    #expect((kept.storage.memory as? FrameBuffer)?.memory.isLent == false)
    #expect(kept.bytes.allSatisfy { $0 == 77 })

    let second = try await GLRenderer.open(on: device, tuning: tuning)
    #expect(try await luma(second, kept) == 77)
    // The pool goes on with memory of its own.
    #expect(try await luma(second, frame(pool, 78)) == 78)
    await second.close()
  }

  @Test("a frame in GPU memory stays valid after its renderer is released without closing")
  func lenderIsLetGo() async throws {
    let device = try await GPUDevice.chooseForGL(.automatic)
    let pool = FramePool()
    var kept: Frame?

    do {
      let renderer = try await GLRenderer.open(
        on: device, tuning: RenderTuning(maximumTargetSide: 2048, boxes: .words))
      await renderer.lendMemory(to: pool)
      for byte: UInt8 in 10...12 { _ = try await luma(renderer, frame(pool, byte)) }
      kept = try frame(pool, 55)
    }

    #expect(kept?.bytes.allSatisfy { $0 == 55 } == true)
  }

  @Test("frames of alternating sizes are drawn correctly, and frames still in use keep their bytes")
  func sizesByTurns() async throws {
    let renderer = try await GLRenderer.open()
    let pool = FramePool()
    await renderer.lendMemory(to: pool)
    var held: [(frame: Frame, byte: UInt8)] = []

    for number in 0..<24 {
      let side = 32 + 16 * (number % 3)
      let format = Frame.Format(.grey, Size(width: side, height: side), color: .jfif)
      let buffer = try pool.take(side * side)
      fill(buffer, with: UInt8(number * 10))
      let frame = try Frame(tight: format, storage: FrameBytes(buffer))
      if number % 5 == 0 { held.append((frame, UInt8(number * 10))) }
      #expect(try await luma(renderer, frame) == UInt8(number * 10))
    }

    for (frame, byte) in held { #expect(frame.bytes.allSatisfy { $0 == byte }) }
    await renderer.close()
    for (frame, byte) in held { #expect(frame.bytes.allSatisfy { $0 == byte }) }
  }
}
