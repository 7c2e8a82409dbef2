// The parameters of URLs that say how a view is shown, which `ViewConfiguration` reads.

extension QueryEntry {
  /// The parameters of a view: those of `ViewConfiguration.keys`.
  package static let view: [QueryEntry] = [
    .init(
      "crop", .text(pattern: #"^(\d{1,9}x\d{1,9}\+\d{1,9}\+\d{1,9}|\d{1,9}(,\d{1,9}){3})$"#),
      "the part of the upright picture, `WxH+X+Y` or `X,Y,W,H`, in its pixels"),
    .init(
      "rotate", .keywords(["type": "integer", "enum": [0, 90, 180, 270]]), "the degrees to turn it, clockwise"
    ),
    .init("mirror", .choice(Mirroring.self), "along which axes it is mirrored"),
    .init(
      "size", .text(pattern: #"^(\d{1,5}x\d{0,5}|x\d{1,5})$"#),
      "the size, `WxH`, or `Wx` or `xH` with the other side from the aspect ratio"),
    .init("width", side, "the width in pixels, also `w`"),
    .init("height", side, "the height in pixels, also `h`"),
    .init("mode", .choice(ContentMode.self), "how it fits a size of another aspect ratio"),
    .init(
      "background", .text(pattern: "^(#[0-9A-Fa-f]{6}|blur)$"),
      "the colour around it, or the picture, blurred"),
    .init("filter", .choice(Filter.self), "how it is scaled"),
    .init("linear", .boolean, "whether it is scaled in linear light"),
    .init("label", .keywords(["type": "string", "maxLength": 200]), "a text in its lower left corner"),
    .init("time", .text, "the time of the picture in its upper right corner: `on`, or a format of strftime"),
  ]

  private static let side = JSONSchema.integer(in: 1...Size.maximumSide)

  /// The quality of JPEGs, for views that take it.
  package static let quality = QueryKey<Int>.integer(
    "quality", or: "q", in: 1...100, "the quality of JPEGs and of H.264; that of the view without")
}
