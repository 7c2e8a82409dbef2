// What a renderer keeps from picture to picture.
internal import Basics
internal import CPixels
internal import PreviewCore
internal import Synchronization

/// Prepared drawings and memory, for all threads that draw.
final class Caches: Sendable {
  private struct Key: Hashable {
    let drawing: Drawing
    let samples: PreparedDrawing.Samples
  }

  private struct LightKey: Hashable {
    let drawing: Drawing
    let format: Frame.Format
  }

  /// The most bytes of tables that either cache keeps.
  private static let mostTables = 8 << 20

  private let lights = Mutex(LRUCache<LightKey, PreparedLight>(capacity: 64, maximumCost: mostTables))
  private let drawings = Mutex(LRUCache<Key, PreparedDrawing>(capacity: 256, maximumCost: mostTables))
  let scratch = ScratchPool()
  /// The most threads that draw one picture.
  private let mostThreads: Int

  /// The samples, read and written, that a thread should have to be worth waking.
  private static let samplesPerThread = 3_000_000

  let instructions: pixels_instructions

  init(mostThreads: Int, _ instructions: pixels_instructions) {
    (self.mostThreads, self.instructions) = (mostThreads, instructions)
  }

  func prepared(_ drawing: Drawing, _ samples: PreparedDrawing.Samples) -> PreparedDrawing {
    let key = Key(drawing: drawing, samples: samples)
    if let prepared = drawings.withLock({ $0[key] }) { return prepared }
    let prepared = PreparedDrawing(drawing, samples)
    drawings.withLock { $0.insert(prepared, for: key, cost: prepared.byteCount) }
    return prepared
  }

  func preparedLight(_ drawing: Drawing, within crop: Rectangle, of format: Frame.Format) -> PreparedLight {
    let key = LightKey(drawing: drawing, format: format)
    if let prepared = lights.withLock({ $0[key] }) { return prepared }
    let prepared = PreparedLight(drawing, within: crop, of: format)
    lights.withLock { $0.insert(prepared, for: key, cost: prepared.byteCount) }
    return prepared
  }

  /// Returns how many threads should draw: one, unless each of them has much to do.
  func threads(for drawing: Drawing) -> Int {
    threads(for: drawing.work, rows: drawing.size.height)
  }

  func threads(for drawing: WarpedDrawing) -> Int {
    threads(for: drawing.work, rows: drawing.size.height)
  }

  private func threads(for work: Int, rows: Int) -> Int {
    min(mostThreads, max(1, work / Caches.samplesPerThread), (rows + 15) / 16)
  }

  var byteCount: Int { scratch.byteCount + drawings.withLock { $0.cost } + lights.withLock { $0.cost } }

  func removeAll() {
    scratch.removeAll()
    drawings.withLock { $0.removeAll() }
    lights.withLock { $0.removeAll() }
  }
}

extension Drawing {
  /// The samples that it reads and writes, roughly.
  fileprivate var work: Int {
    let read = signals.reduce(0) {
      $0 + $1.columns.source.samples.count * $1.rows.source.samples.count * $1.step
    }
    // Light takes ten times as long.
    return (read + size.pixelCount * output.bytesPerSample) * (lightCrop == nil ? 1 : 10)
  }
}
