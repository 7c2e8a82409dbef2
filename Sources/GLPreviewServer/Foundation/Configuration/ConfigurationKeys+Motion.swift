// The configuration keys below `motion` of a camera.

extension ConfigurationKeys {
  static let motion: [ConfigurationKey<MotionSettings>] = [
    .init(
      "zones",
      listOf: .init("`NAME=X,Y,WIDTH,HEIGHT`, `NAME=X,Y X,Y X,Y`") { try MotionZone(parsing: $0) },
      joinedBy: "=", \.zones, "all of the picture",
      """
      the zones where motion counts, in fractions of the upright picture, also as `{gate: "0,0.5,0.4,0.5"}`; each may end in \
      `:sensitivity=N`, `:min-size=N` and `:view=NAME`, which makes them fractions of that view's picture
      """),
    .init(
      "sensitivity", .whole(1...100), \.sensitivity, "`50`",
      "the sensitivity; 25 more halve the difference that counts as motion"),
    .init(
      "min-size", .number(MotionSettings.minimumSizes), \.minimumSize, "`0.15`",
      "the minimum area that moves together, in percent of the picture"),
    .init(
      "min-duration", .time, \.minimumDuration, "`300ms`",
      "the duration of motion before an event begins"),
    .init("cool-down", .time, \.coolDown, "`5s`", "the time without motion before an event ends"),
    .init("rate", .number(0.5...30), \.rate, "`5`", "frames per second that are checked for motion"),
  ]
}

extension CameraConfiguration {
  /// The configured views by name, with the camera's lens: motion zones may be drawn in their pictures.
  package var zoneViews: [String: ViewConfiguration] {
    Dictionary(views.map { ($0.view.name, $0.view.withLens(options.lens)) }) { first, _ in first }
  }

  /// The first problem of motion zones that are drawn in views, as far as it shows before the camera's size is
  /// known.
  var zoneProblem: ParameterError? {
    do throws(ParameterError) {
      try motion?.checkZones(in: zoneViews, of: options.referenceSize)
      return nil
    } catch {
      return error
    }
  }
}
