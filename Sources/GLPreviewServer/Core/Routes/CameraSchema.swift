// The JSON schema of `/api/cameras` for the description of the API: members of cameras and views, and those
// that features add.

struct CameraSchema {
  let listing, camera, view: JSONSchema

  init(_ features: [any ServiceFeature]) {
    let urls = JSONSchema.object(
      [.init("stream", .path), .init("mp4", .path), .init("jpeg", .path), .init("png", .path)]
        + features.flatMap(\.pathNames).map { .optional($0, .path) })
    view = .named("View", .object(Self.view + [.init("urls", urls)]))
    camera = .named(
      "Camera",
      .object(Self.camera + [.init("views", .list(of: view))] + features.flatMap(\.cameraMembers)))
    listing = .named(
      "Cameras",
      .object(
        [
          .init("cameras", .list(of: camera)), .init("version", .text, "the version of the service"),
          .init("role", .choice(Role.self), "what the client may do"),
          .optional("device", Self.device, "the GPU; missing until it is open"),
          .optional("device_failure", .text),
        ] + features.flatMap(\.listingMembers)))
  }

  private static let device = JSONSchema.object([
    .init("name", .text), .init("software", .boolean), .optional("vendor", .text),
  ])

  private static let camera: [JSONMember] = [
    .init("name", .text), .init("kind", .choice(["camera", "scene"])),
    .init("state", .choice(SourceState.self)),
    .optional("since", .time, "the beginning of this state"),
    .optional("fps", .number, "the frames a second that come; not told of some cameras of other nodes"),
    .init("required", .boolean, "whether the service is ready only with it"),
    .optional(
      "counters",
      .object(
        ["received", "dropped", "missed", "damaged", "reconnections"].map { .init($0, .integer) }),
      "counters of its frames; a scene has none"),
    .optional("reason", .text, "why it is not live"),
    .optional("source", .text, "its source; only the role `control` sees it"),
    .optional(
      "format",
      .object([
        .init("format", .text), .init("transport", .text), .optional("width", .integer),
        .optional("height", .integer), .optional("fps", .number),
      ]), "the format that it sends"),
    .optional("width", .integer, "the width of its upright picture, whose pixels crops count"),
    .optional("height", .integer),
    .optional(
      "replay",
      .object(
        ["from", "to", "seconds"].map { .init($0, .number) } + [
          .init("bytes", .integer), .init("pictures", .integer),
        ]),
      "the pictures that are kept"),
  ]

  private static let view: [JSONMember] = [
    .init("name", .text), .init("rotate", .integer), .init("mirror", .choice(Mirroring.self)),
    .init("mode", .choice(ContentMode.self)), .init("background", .text),
    .init("filter", .choice(Filter.self)),
    .optional("fps", .number, "the pictures a second that are made; not told of some cameras of other nodes"),
    .init("enabled", .boolean),
    .init("locked", .boolean, "whether only the configuration changes it"), .init("quality", .integer),
    .optional("clients", .integer, "the number of its watchers"), .optional("width", .integer),
    .optional("height", .integer),
    .optional("crop", .text), .optional("label", .text), .optional("time", .text),
    .optional("fps_limit", .number),
    .optional(
      "video",
      .object([
        .init("quality", .integer), .init("keyframe", .number, "in seconds"), .init("encoder", .text),
        .optional("bitrate", .integer, "the most bits a second"), .optional("current_bitrate", .integer),
        .optional("running", .text, "the encoder at work, or `passed` for the camera's own H.264"),
        .optional("codec", .text),
        .optional("not_passed", .text, "why the camera's own H.264 is not passed on"),
        .init(
          "reduced_clients", .integer,
          "the number of clients that get a smaller picture, because they are slow"),
      ]), "its H.264"),
    .optional(
      "watchers",
      .list(
        of: .object([
          .init("address", .text), .init("since", .time), .init("fps", .integer), .optional("key", .text),
        ])), "its watchers of MJPEG; only the role `control` sees them"),
  ]

  /// The request body that changes a view.
  static let change = JSONSchema.object(
    QueryEntry.view.map { entry in
      .optional(entry.name, nullable.contains(entry.name) ? entry.schema.orNull : entry.schema, entry.purpose)
    } + [
      .optional("fps", .number(in: 0.01...1000).orNull, "the most pictures a second"),
      .optional("enabled", .boolean), .optional("quality", .integer(in: 1...100).orNull),
    ], isClosed: true)

  private static let nullable: Set = ["crop", "size", "width", "height"]
}
