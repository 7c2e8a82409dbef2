// What the description of the API says of `/api/cameras`: the members of cameras and views, with those that features add.

struct CameraSchema {
  let listing, camera, view: JSONSchema

  init(_ features: [any ServiceFeature]) {
    let urls = JSONSchema.object(
      [.init("stream", .path), .init("mp4", .path), .init("jpeg", .path), .init("png", .path)]
        + features.flatMap(\.pathMembers).map { .optional($0.name, $0.schema) })
    view = .named("View", .object(Self.view + [.init("urls", urls)]))
    camera = .named(
      "Camera",
      .object(Self.camera + [.init("views", .list(of: view))] + features.flatMap(\.cameraMembers)))
    listing = .named(
      "Cameras",
      .object(
        [
          .init("cameras", .list(of: camera)), .init("version", .text, "of the service"),
          .init("role", .choice(Role.self), "what the client may do"),
          .optional("device", Self.device, "the GPU, once it is open"), .optional("device_failure", .text),
        ] + features.flatMap(\.listingMembers)))
  }

  private static let device = JSONSchema.object([
    .init("name", .text), .init("software", .boolean), .optional("vendor", .text),
  ])

  private static let camera: [JSONMember] = [
    .init("name", .text), .init("kind", .choice(["camera", "scene"])),
    .init("state", .choice(SourceState.self)),
    .init("since", .time, "since when it is in this state"),
    .init("fps", .number, "frames a second that come"),
    .init("required", .boolean, "whether the service is ready only with it"),
    .optional(
      "counters",
      .object(
        ["received", "dropped", "missed", "damaged", "reconnections"].map { .init($0, .integer) }),
      "of a camera"),
    .optional("reason", .text, "why it is not live"), .optional("source", .text, "for the role `control`"),
    .optional(
      "format",
      .object([
        .init("format", .text), .init("transport", .text), .optional("width", .integer),
        .optional("height", .integer), .optional("fps", .number),
      ]), "what it sends"),
    .optional("width", .integer, "of its upright picture, in whose pixels crops are"),
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
    .init("fps", .number, "pictures a second that are made"), .init("enabled", .boolean),
    .init("locked", .boolean, "whether only the configuration changes it"), .init("quality", .integer),
    .init("clients", .integer, "how many watch it"), .optional("width", .integer),
    .optional("height", .integer),
    .optional("crop", .text), .optional("label", .text), .optional("time", .text),
    .optional("fps_limit", .number),
    .init(
      "video",
      .object([
        .init("quality", .integer), .init("keyframe", .number, "in seconds"), .init("encoder", .text),
        .optional("bitrate", .integer, "the most bits a second"), .optional("current_bitrate", .integer),
        .optional("running", .text, "who encodes it now, or `passed`"), .optional("codec", .text),
        .optional("not_passed", .text, "why the camera's own H.264 is not passed on"),
        .init("reduced_clients", .integer, "clients with a smaller picture"),
      ]), "as H.264"),
    .optional(
      "watchers",
      .list(
        of: .object([
          .init("address", .text), .init("since", .time), .init("fps", .integer), .optional("key", .text),
        ])), "of MJPEG, for the role `control`"),
  ]

  /// The body that changes a view.
  static let change = JSONSchema.object(
    QueryEntry.view.map { entry in
      .optional(entry.name, nullable.contains(entry.name) ? entry.schema.orNull : entry.schema, entry.purpose)
    } + [
      .optional("fps", .number(in: 0.01...1000).orNull, "at most so many pictures a second"),
      .optional("enabled", .boolean), .optional("quality", .integer(in: 1...100).orNull),
    ], isClosed: true)

  private static let nullable: Set = ["crop", "size", "width", "height"]
}
