// The layout of storyboards: parts of time, and places on sheets.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import Recordings
@testable import ServiceFoundation

@Suite("Layout of storyboards")
struct StoryboardLayoutTests {
  @Test("a sheet has 25 parts in rows of 5, and the last one the rest", arguments: [1, 4, 25, 26, 59, 400])
  func sheets(count: Int) {
    let board = Storyboard(from: 0, to: 400_000, count: count)
    let tile = Size(width: 16, height: 9)
    let parts = (0..<board.sheetCount).flatMap { board.parts(ofSheet: $0) }
    #expect(parts == Array(0..<count))
    for part in 0..<count {
      let sheet = part / 25
      let size = board.size(ofSheet: sheet, tile: tile)
      #expect(board.place(of: part, tile: tile).isInside(size))
      let inSheet = board.parts(ofSheet: sheet).count
      #expect(size == Size(width: 16 * min(inSheet, 5), height: 9 * ((inSheet + 4) / 5)))
    }
  }

  @Test("the parts near a recording are all that it overlaps, and few others")
  func near() {
    var numbers = SeededGenerator(seed: 7)
    for _ in 0..<1000 {
      let from = Int.random(in: 0...1_000_000, using: &numbers)
      let board = Storyboard(
        from: from, to: from + Int.random(in: 1000...100_000, using: &numbers),
        count: .random(in: 1...400, using: &numbers))
      let times = (0..<2).map { _ in Int.random(in: -10_000...1_200_000, using: &numbers) }.sorted()
      let (start, end) = (
        WallTime(sinceEpoch: .milliseconds(times[0])), WallTime(sinceEpoch: .milliseconds(times[1]))
      )
      let near = board.parts(near: start, end)
      let overlapped = board.parts.filter {
        start < board.start(of: $0 + 1) && end > board.start(of: $0)
      }
      #expect(overlapped.allSatisfy { near.contains($0) } && near.count <= overlapped.count + 4)
      #expect(near.clamped(to: board.parts) == near)
    }
  }

  @Test("adjacent parts with equal tiles are joined across no gap")
  func joined() {
    #expect(Storyboard.joined([Int?]()) == [])
    #expect(Storyboard.joined([1, 1, nil, 1, 2, 2, 2, nil, nil, 2]) == [0..<2, 3..<4, 4..<7, 9..<10])
  }
}
