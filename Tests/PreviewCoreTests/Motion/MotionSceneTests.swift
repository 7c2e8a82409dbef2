// What is found in synthetic scenes, as the table in docs/motion.md says.
import Testing

@testable import PreviewCore

@Suite("Motion in scenes")
struct MotionSceneTests {
  @Test("what moves is found, and nothing else", arguments: MotionScene.moving + MotionScene.both)
  func moving(scene: MotionScene) {
    var score = MotionScore()
    score.add(scene, seed: 1, MotionSettings())

    #expect(score.recall == 1, "\(score)")
    #expect(score.precision == 1, "\(score)")
    #expect(score.changes == 0, "\(score)")
  }

  @Test("light, weather and a moved camera are no motion", arguments: MotionScene.still)
  func still(scene: MotionScene) {
    var score = MotionScore()
    score.add(scene, seed: 1, MotionSettings())

    #expect(score.events <= scene.mostWrong, "\(score)")
    #expect(score.changes == scene.changes, "\(score)")
  }
}

extension MotionScene: CustomTestStringConvertible {
  var testDescription: String { name }
}
