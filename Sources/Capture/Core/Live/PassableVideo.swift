// The newest pictures of a camera's own H.264. Videos pass them on; snapshots and other views decode them.
internal import Synchronization

/// The pictures of one connection from its last key picture on, as far as there is room.
package final class PassableVideo: Sendable {
  /// A picture among those of the connection.
  package struct Place: Sendable {
    package let video: PassableVideo
    /// Its number; the first one is 0.
    package let index: Int
    package let size: Size
    /// When the key picture was captured that it rests on.
    package let keyTime: CaptureInstant

    /// The picture, while it is there.
    var sample: VideoSample? { video.pictures(after: index - 1, through: index).last?.sample }
  }

  /// Makes a decoder of a video's kept pictures, which gives the frame of the picture of a number.
  package typealias OpenDecoder =
    @Sendable (PassableVideo, _ maximumPixels: Int, FramePool) -> @Sendable (Int) throws -> Frame

  private let state = Mutex(State())
  private let limit: Int
  private let budget: MemoryBudget?
  private let connections: (ended: EndedConnections, before: Int)?

  package struct Picture: Sendable {
    package let sample: VideoSample
    /// The sample's own time may be later, so that samples are in order.
    package let capturedAt: CaptureInstant
  }

  private struct State {
    var pictures: [Picture] = []
    var byteCount = 0
    /// The number of the first of `pictures`.
    var first = 0
    /// The last key picture.
    var keyTime = CaptureInstant.start
    var isBroken = false
    /// For each patient reader, the index of the first picture that it has not read.
    var awaited: [ObjectIdentifier: Int] = [:]
    var lease: MemoryLease?

    func has(_ index: Int) -> Bool { index >= first && index < first + pictures.count }
  }

  /// How long pictures before the last key picture, or beyond `limit` bytes, are kept: readers may be a little late.
  private static let lateness = Duration.seconds(1)
  /// The same for patient readers, which read about twice a second; within `limit`.
  private static let awaitedLateness = Duration.seconds(10)

  /// What is kept counts against the budget; where that has no room, it is as if there were more than `limit` bytes.
  /// `ended` counts the ends of its connection.
  package init(limit: Int = 8_000_000, budget: MemoryBudget? = nil, of ended: EndedConnections? = nil) {
    self.limit = limit
    self.budget = budget
    connections = ended.map { ($0, $0.count) }
  }

  /// Whether its connection has ended, so that new watchers do not get its pictures.
  package var isOver: Bool { connections.map { $0.ended.count != $0.before } ?? false }

  /// Adds the next picture. The first one, and the first after a loss, is a key picture.
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

  /// The lease changes in steps, so that it does not change for each picture.
  private static let step = 1 << 20

  /// Reserves what is kept; false if there is no room.
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

  /// What follows the picture `last` up to the picture `index`. Nil, or one that is too old, stands for the last key picture,
  /// with which it begins then; there is nothing if that is not kept.
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

  /// Keeps the pictures from `index` on for longer, because `reader` is patient. Nil ends that.
  package func wait(for index: Int?, by reader: ObjectIdentifier) {
    state.withLock { $0.awaited[reader] = index }
  }

  /// The fewest pictures to decode for the picture `index` after the picture `last`.
  package func pathToDecode(after last: Int?, through index: Int) -> [VideoSample] {
    let samples = pictures(after: last, through: index).map(\.sample)
    return samples.lastIndex(where: \.isKey).map { Array(samples[$0...]) } ?? samples
  }

  /// A picture turned out to be damaged: those that rest on it are not sent on.
  package func breakUp() { state.withLock { $0.isBroken = true } }

  package var isBroken: Bool { state.withLock { $0.isBroken } }
}
