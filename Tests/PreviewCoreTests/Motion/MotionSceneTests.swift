// What is found in synthetic scenes, as the table in docs/motion.md says.
import Foundation
import Testing

@testable import PreviewCore

@Suite("Motion in synthetic scenes")
struct MotionSceneTests {
  private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/motion.md")

  /// A scene's score, which the table must have.
  private func score(_ scene: MotionScene) throws -> MotionScore {
    var score = MotionScore()
    score.add(scene, seed: 1, MotionSettings())
    let table = try String(contentsOf: Self.page, encoding: .utf8)
    #expect(
      table.contains(scene.row(score) + "\n"), "docs/motion.md has another row than \(scene.row(score))")
    return score
  }

  @Test(
    "every moving object is detected, without false detections, as docs/motion.md states",
    arguments: MotionScene.moving + MotionScene.both)
  func moving(scene: MotionScene) throws {
    let score = try score(scene)
    #expect(score.recall == 1 && score.precision == 1 && score.changes == 0)
  }

  @Test(
    "light, weather and camera moves cause at most the tolerated false detections",
    arguments: MotionScene.still)
  func still(scene: MotionScene) throws {
    let score = try score(scene)
    #expect(score.wrong <= scene.mostWrong && score.changes == scene.changes)
  }

  @Test(
    "scores of scenes at the detection limits match the table in docs/motion.md",
    arguments: MotionScene.limits)
  func limits(scene: MotionScene) throws { _ = try score(scene) }
}

extension MotionScene: CustomTestStringConvertible {
  var testDescription: String { name }
}
