// The newest pictures of a camera's own H.264. Videos pass them through; snapshots and other views decode
// them.
internal import Synchronization

/// The pictures of one connection from its last keyframe on, within a limit of memory.
package final class OriginalVideo: Sendable {
  /// The position of a picture in its connection's stream.
  package struct Place: Sendable {
    package let video: OriginalVideo
    /// The picture's number; the first one is 0.
    package let index: Int
    package let size: Size
    /// The capture time of the keyframe that the picture depends on.
    package let keyTime: CaptureInstant

    /// The picture, while it is still stored.
    var sample: VideoSample? { video.pictures(after: index - 1, through: index).last?.sample }
  }

  /// Makes a decoder for a video's stored pictures. The decoder returns the frame of the picture with the
  /// given number.
  package typealias OpenDecoder =
    @Sendable (OriginalVideo, _ maximumPixels: Int, FramePool) -> @Sendable (Int) throws -> Frame

  private let state = Mutex(State())
  private let limit: Int
  private let budget: MemoryBudget?
  private let connections: (ended: EndedConnections, before: Int)?

  package struct Picture: Sendable {
    package let sample: VideoSample
    /// The capture time. The sample's own time may be later, so that samples are in order.
    package let capturedAt: CaptureInstant
  }

  private struct State {
    var pictures: [Picture] = []
    var byteCount = 0
    /// The number of the first element of `pictures`.
    var first = 0
    /// The capture time of the last keyframe.
    var keyTime = CaptureInstant.start
    var isBroken = false
    /// For each batch reader, the index of the first picture that it has not read.
    var awaited: [ObjectIdentifier: Int] = [:]
    var lease: MemoryLease?

    func has(_ index: Int) -> Bool { index >= first && index < first + pictures.count }
  }

  /// How long pictures before the last keyframe, or beyond `limit` bytes, stay stored, because readers may be
  /// a little late.
  private static let lateness = Duration.seconds(1)
  /// How long they stay stored for batch readers, which read about twice a second; only within `limit`.
  private static let awaitedLateness = Duration.seconds(10)

  /// Creates an empty store. Stored pictures count against the budget; if it is exhausted, they are dropped
  /// as if they exceeded `limit` bytes. `ended` counts the ended connections of the source.
  package init(limit: Int = 8_000_000, budget: MemoryBudget? = nil, of ended: EndedConnections? = nil) {
    self.limit = limit
    self.budget = budget
    connections = ended.map { ($0, $0.count) }
  }

  /// Whether its connection has ended, so that new viewers do not get its pictures.
  package var isOver: Bool { connections.map { $0.ended.count != $0.before } ?? false }

  /// Adds the next picture. The first one, and the first after a loss, must be a keyframe.
  package func add(_ sample: VideoSample, capturedAt time: CaptureInstant? = nil) -> Place {
    state.withLock { state in
      let time = time ?? sample.timestamp
      state.pictures.append(Picture(sample: sample, capturedAt: time))
      state.byteCount += sample.bytes.count
      if sample.isKey { (state.keyTime, state.isBroken) = (time, false) }
      let key = state.pictures.lastIndex(where: \.sample.isKey) ?? state.pictures.count - 1
      let hasRoom = state.byteCount <= limit && hold(&state)
      let end = hasRoom ? key : state.pictures.count - 1
      var kept = state.pictures[..<end].firstIndex { $0.capturedAt >= time - Self.lateness } ?? end
      if hasRoom, let awaited = state.awaited.values.min(), awaited < state.first + kept {
        let old = state.pictures[..<kept].firstIndex { $0.capturedAt >= time - Self.awaitedLateness }
        kept = max(awaited - state.first, old ?? kept)
      }
      state.byteCount -= state.pictures[..<kept].reduce(0) { $0 + $1.sample.bytes.count }
      state.pictures.removeFirst(kept)
      state.first += kept
      _ = hold(&state)
      return Place(
        video: self, index: state.first + state.pictures.count - 1, size: sample.format.size,
        keyTime: state.keyTime)
    }
  }

  /// The lease changes in steps, so that it is not resized for each picture.
  private static let step = 1 << 20

  /// Reserves memory for the stored pictures; false if the budget is exhausted.
  private func hold(_ state: inout State) -> Bool {
    guard let budget else { return true }
    let wanted = (state.byteCount + Self.step - 1) / Self.step * Self.step
    guard state.lease?.byteCount != wanted else { return true }
    do {
      if let lease = state.lease {
        try lease.resize(to: wanted)
      } else {
        state.lease = try budget.reserve(wanted)
      }
      return true
    } catch {
      return false
    }
  }

  /// Returns the pictures that follow number `last` up to number `index`. If `last` is nil or too old, begins
  /// with the last keyframe before `index`; returns nothing if that is no longer stored.
  package func pictures(after last: Int?, through index: Int) -> [Picture] {
    state.withLock { state in
      guard state.has(index) else { return [] }
      let known = state.pictures[...(index - state.first)]
      if let last, last + 1 >= state.first { return Array(known.dropFirst(last + 1 - state.first)) }
      return known.lastIndex(where: \.sample.isKey).map { Array(known[$0...]) } ?? []
    }
  }

  /// The last picture; nil if there is none.
  package var newest: Place? {
    state.withLock { state in
      state.pictures.last.map {
        Place(
          video: self, index: state.first + state.pictures.count - 1, size: $0.sample.format.size,
          keyTime: state.keyTime)
      }
    }
  }

  /// Stores the pictures from `index` on for longer, because `reader` reads in batches. Nil ends that.
  package func wait(for index: Int?, by reader: ObjectIdentifier) {
    state.withLock { $0.awaited[reader] = index }
  }

  /// Returns the fewest pictures to decode for the picture `index` after the picture `last`.
  package func pathToDecode(after last: Int?, through index: Int) -> [VideoSample] {
    let samples = pictures(after: last, through: index).map(\.sample)
    return samples.lastIndex(where: \.isKey).map { Array(samples[$0...]) } ?? samples
  }

  /// Records that a picture was damaged: pictures that depend on it are not passed through.
  package func breakUp() { state.withLock { $0.isBroken = true } }

  package var isBroken: Bool { state.withLock { $0.isBroken } }
}
