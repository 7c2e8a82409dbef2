// Zones of motion, as they stand in configurations, and recordings of cells, which others send.
import PreviewCore

extension FuzzTarget {
  static let zone = FuzzTarget(
    name: "zone", longest: 256,
    words: ["gate=", "0,0,1,1", "0.5,0.25", " ", ":sensitivity=", ":view=", "100", "1e-300", "nan", "inf"],
    seeds: {
      ["a=0,0,0.5,0.25:view=main", "b-2=0.1,0.1 0.9,0.1 0.5,0.7:sensitivity=80", "c=0,0 1,1 1,0 0,1"].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      guard let zone = try? MotionZone(parsing: String(decoding: input, as: UTF8.self)) else { return }
      try must(zone.cells.allSatisfy((0..<MotionCells.count).contains), "cells beyond the picture")
      try must(Set(zone.cells).count == zone.cells.count, "a cell twice")
      try must((try? MotionZone(parsing: "\(zone)")) == zone, "'\(zone)' is read as another zone")
    })

  static let motionRecording = FuzzTarget(
    name: "motion-recording", longest: 8192, words: ["GLPMOTION 1 64 36\n"],
    seeds: {
      let luma = (0..<MotionCells.count).map { UInt8($0 % 7) }
      let times = [0, 200, 200, -5, 1_000_000]
      return [
        MotionRecording(
          times.compactMap { MotionCells(luma, at: CaptureInstant(sinceStart: .milliseconds($0))) }
        ).bytes
      ]
    },
    body: .atOnce { (input) throws(FuzzFault) in
      guard let recording = try? MotionRecording(bytes: input) else { return }
      try must(recording.pictures.count <= input.count / 10, "pictures of nothing")
      try must((try? MotionRecording(bytes: recording.bytes)) == recording, "it is read as another one")
    })
}
