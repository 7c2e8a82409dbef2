// The URL parameters that change how a view is shown; `ViewConfiguration` parses them.

extension QueryEntry {
  /// The parameters of a view, one for each of `ViewConfiguration.keys`.
  package static let view: [QueryEntry] = [
    .init(
      "crop", .text(pattern: #"^(\d{1,9}x\d{1,9}\+\d{1,9}\+\d{1,9}|\d{1,9}(,\d{1,9}){3})$"#),
      "the part of the camera's upright picture to show, in its pixels: `WxH+X+Y` or `X,Y,W,H`"),
    .init(
      "lens", .text, "the camera's lens, for a `projection`; by default as configured: `fisheye fov 190`"),
    .init(
      "projection", .choice(Projection.Shape.self),
      "shows what another camera in the lens's place would see; `flat` if only its direction is given"),
    .init("yaw", turn, "the degrees by which that camera looks to the right"),
    .init("pitch", turn, "the degrees by which it looks up"),
    .init("roll", turn, "the degrees by which it is rolled clockwise"),
    .init("hfov", .number(in: 1...360), "its horizontal field of view in degrees; below 180 for `flat`"),
    .init(
      "corners", .text(pattern: #"^-?\d{1,6},-?\d{1,6}( -?\d{1,6},-?\d{1,6}){3}$"#),
      "four points `X,Y X,Y X,Y X,Y` of the camera's upright picture that become the picture's corners"),
    .init(
      "rotate", turn, "the rotation in degrees, clockwise: quarter turns, or any other number of degrees"),
    .init("mirror", .choice(Mirroring.self), "the axes along which the picture is mirrored"),
    .init(
      "size", .text(pattern: #"^(\d{1,5}x\d{0,5}|x\d{1,5})$"#),
      "the size in pixels, `WxH`; `Wx` and `xH` take the other side from the aspect ratio"),
    .init("width", side, "the width in pixels, also `w`"),
    .init("height", side, "the height in pixels, also `h`"),
    .init("mode", .choice(ContentMode.self), "how the picture fits a size of another aspect ratio"),
    .init(
      "background", .text(pattern: "^(#[0-9A-Fa-f]{6}|blur)$"),
      "the colour around the picture, or the picture itself, blurred"),
    .init("filter", .choice(Filter.self), "the filter that scales the picture"),
    .init("linear", .boolean, "whether the picture is scaled in linear light"),
    .init("label", .keywords(["type": "string", "maxLength": 200]), "a text in the lower left corner"),
    .init(
      "time", .text,
      "the time of capture in the upper right corner: `local`, `utc`, `no`, or a pattern such as `%H:%M`"),
  ]

  private static let turn = JSONSchema.number(in: -360...360)
  private static let side = JSONSchema.integer(in: 1...Size.maximumSide)

  /// The quality of JPEGs and of H.264.
  package static let quality = QueryKey<Int>.integer(
    "quality", or: "q", in: 1...100, "the quality of the encoding; by default as configured for the view")
}
