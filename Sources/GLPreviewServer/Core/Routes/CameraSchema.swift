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
          .optional("links", Self.links, "what links can be signed; only for the role `control`"),
        ] + features.flatMap(\.listingMembers)))
  }

  private static let device = JSONSchema.object([
    .init("name", .text), .init("software", .boolean), .optional("vendor", .text),
    .optional("shaders", .choice(["fragments", "compute"]), "what draws views on a GPU"),
    .optional("jpeg", .choice(["cpu", "gpu"]), "what codes JPEGs"),
    .optional("load", .number, "the share of a GPU's time that drawing takes, by its own clock"),
    .optional("passed_over", .text, "why the CPU draws although there is a device file of a GPU"),
  ])

  private static let links = JSONSchema.object([
    .init(
      "keys",
      .list(
        of: .object([
          .init("name", .text), .optional("cameras", .list(of: .text), "missing for all"),
          .init("forever", .boolean, "whether it signs links without an end"),
        ]))),
    .optional("public_url", .text, "where links point"),
  ])

  private static let camera: [JSONMember] = [
    .init("name", .text), .init("kind", .choice(["camera", "scene"])),
    .init("state", .choice(SourceState.self)),
    .optional("since", .time, "the time at which this state began"),
    .optional("fps", .number, "the frames per second that arrive; missing for some cameras of other nodes"),
    .init("required", .boolean, "whether the service is ready only if it works"),
    .optional(
      "counters",
      .object(
        ["received", "dropped", "missed", "damaged", "reconnections"].map { .init($0, .integer) }),
      "its frame counters; missing for a scene"),
    .optional("reason", .text, "the reason why it is not live"),
    .optional("source", .text, "its source; only for the role `control`"),
    .optional(
      "format",
      .object([
        .init("format", .text), .init("transport", .text), .optional("width", .integer),
        .optional("height", .integer), .optional("fps", .number),
        .optional("not_imported", .text, "with `dma-buf: auto`: why its pictures are copied"),
      ]), "the format that the camera sends"),
    .optional("width", .integer, "the width of its upright picture, in whose pixels crops are given"),
    .optional("height", .integer),
    .optional("lens", .text, "its lens, for views with a projection"),
    .optional(
      "replay",
      .object(
        ["from", "to", "seconds"].map { .init($0, .number) } + [
          .init("bytes", .integer), .init("pictures", .integer),
        ]),
      "the replay buffer"),
  ]

  private static let view: [JSONMember] = [
    .init("name", .text), .init("rotate", .number), .init("mirror", .choice(Mirroring.self)),
    .init("mode", .choice(ContentMode.self)), .init("background", .text),
    .init("filter", .choice(Filter.self)),
    .optional(
      "fps", .number, "the pictures per second that are made; missing for some cameras of other nodes"),
    .init("enabled", .boolean),
    .init("locked", .boolean, "whether only the configuration can change it"), .init("quality", .integer),
    .init(
      "decode", .choice(StreamDecoding.self), "how the camera's JPEGs are decoded for its streams"),
    .optional("clients", .integer, "the number of its viewers"), .optional("width", .integer),
    .optional("height", .integer),
    .optional("crop", .text), .optional("lens", .text, "its lens, if not the camera's"),
    .optional("projection", .choice(Projection.Shape.self)), .optional("yaw", .number),
    .optional("pitch", .number), .optional("roll", .number), .optional("hfov", .number),
    .optional("positions", .names(.pose), "the positions to which a request can move it, by name"),
    .optional("move", .object(JSONMember.move), "the move that is under way"),
    .optional("corners", .text), .optional("label", .text), .optional("time", .text),
    .optional("fps_limit", .number),
    .optional(
      "video",
      .object([
        .init("quality", .integer), .init("keyframe", .number, "in seconds"), .init("encoder", .text),
        .optional("bitrate", .integer, "the maximum bits per second"), .optional("current_bitrate", .integer),
        .optional(
          "running", .text, "the running encoder, or `passed` if the camera's H.264 is passed through"),
        .optional("codec", .text),
        .optional("not_passed", .text, "the reason why the camera's H.264 is not passed through"),
        .init(
          "reduced_clients", .integer,
          "the number of slow clients, which get a smaller picture"),
      ]), "its H.264"),
    .optional(
      "watchers",
      .list(
        of: .object([
          .init("address", .text), .init("since", .time), .init("fps", .integer), .optional("key", .text),
        ])), "its MJPEG viewers; only for the role `control`"),
  ]

  /// The request body that changes a view.
  static let change = JSONSchema.object(
    QueryEntry.view.map { entry in
      .optional(entry.name, nullable.contains(entry.name) ? entry.schema.orNull : entry.schema, entry.purpose)
    } + [
      .optional("fps", .number(in: 0.01...1000).orNull, "the maximum pictures per second"),
      .optional("enabled", .boolean), .optional("quality", .integer(in: 1...100).orNull),
      .optional("decode", .choice(StreamDecoding.self), "how the camera's JPEGs are decoded for its streams"),
    ], isClosed: true)

  private static let nullable: Set = [
    "crop", "lens", "projection", "hfov", "corners", "size", "width", "height",
  ]
}
