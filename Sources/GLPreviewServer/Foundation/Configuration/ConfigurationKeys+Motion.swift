// The configuration keys below `motion` of a camera.

extension ConfigurationKeys {
  static let motion: [ConfigurationKey<MotionSettings>] = [
    .init(
      "zones",
      listOf: .init("`NAME=X,Y,WIDTH,HEIGHT`, `NAME=X,Y X,Y X,Y`") { try MotionZone(parsing: $0) },
      joinedBy: "=", \.zones, "all of the picture",
      """
      where motion counts, in fractions of the upright picture, also as `{gate: "0,0.5,0.4,0.5"}`; each may end in \
      `:sensitivity=N` and `:min-size=N`
      """),
    .init(
      "sensitivity", .whole(1...100), \.sensitivity, "`50`",
      "how little must differ; 25 more halve it"),
    .init(
      "min-size", .number(MotionSettings.minimumSizes), \.minimumSize, "`0.15`",
      "the least area that moves together, in per cent of the picture"),
    .init(
      "min-duration", .time, \.minimumDuration, "`300ms`",
      "how long something must move before an event begins"),
    .init("cool-down", .time, \.coolDown, "`5s`", "how long nothing must move before an event ends"),
    .init("rate", .number(0.5...30), \.rate, "`5`", "pictures a second that are judged"),
  ]
}
