// `POST /api/links`: creates a signed link to a picture or stream.
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// Signed links for clients with the role `control`.
struct LinkRoutes: Sendable {
  let access: AccessControl
  let directory: ViewDirectory
  let logger: Logger

  private struct Body: Decodable {
    let path: String
    let duration: JSONScalar?
    let forever: Bool?
    let key: String?

    enum CodingKeys: String, CodingKey, CaseIterable {
      case path, forever, key
      case duration = "for"
    }
  }

  func add(to group: ServiceRoutes) {
    let body = JSONSchema.object([
      .init(
        "path", .text, "the path and query of a picture or stream, such as `/cameras/door/main.jpg?width=320`"
      ),
      .optional("for", .text, "how long it is valid, such as `30s`, `12h` or `7d`; by default `1h`"),
      .optional("forever", .boolean, "without an end, if the key allows it"),
      .optional("key", .text, "the name of the key; by default the first one for the camera"),
    ])
    let answer = JSONSchema.named(
      "Link",
      .object([
        .init("url", .text, "the link; only its path and query without `public-url`"),
        .init("key", .text, "the name of the key"),
        .optional("expires", .time, "its end; missing for a link without one"),
      ]))
    group.post(
      "api/links",
      as: [
        .init(
          "createLink", "Signs a link that shows one picture or stream without a password",
          body: .json(body), answers: [.json(answer, "the link")], problems: [.notFound])
      ]
    ) { request, context in try await create(request, context) }
  }

  private func create(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let wanted = try await wanted(in: request, upTo: context.maxUploadSize)
    guard wanted.forever != true || wanted.duration == nil else {
      throw Problem(.badRequest, "a link has either 'for' or 'forever'", parameter: "forever")
    }
    if let camera = LinkedPath(wanted.path)?.camera, !directory.hasCamera(camera) {
      throw Problem.notFound("no camera '\(camera)'")
    }
    let duration: Duration?
    do {
      duration = wanted.forever == true ? nil : try LinkSigner.duration(wanted.duration?.description ?? "1h")
    } catch let error as ParameterError {
      throw Problem(.badRequest, error.reason, parameter: "for")
    }
    let signed: (path: String, key: String, expiry: Int?)
    do {
      signed = try access.sign(wanted.path, by: wanted.key, for: duration)
    } catch let error as ParameterError {
      throw Problem(.badRequest, error.reason, parameter: error.key)
    }
    logger.info(
      "link created",
      metadata: [
        "client": "\(context.clientAddress)", "path": "\(URLToken.redacted(wanted.path))",
        "key": "\(signed.key)", "expires": "\(signed.expiry.map { "\(Self.time($0))" } ?? "never")",
      ])
    return Response(json: Self.answer(signed, access.configuration.publicURL))
  }

  private static func answer(
    _ signed: (path: String, key: String, expiry: Int?), _ base: PublicURL?
  ) -> [String: JSONValue] {
    var members: [String: JSONValue] = [
      "url": .string((base?.text ?? "") + signed.path), "key": .string(signed.key),
    ]
    members["expires"] = signed.expiry.map { .string("\(time($0))") }
    return members
  }

  private static func time(_ seconds: Int) -> WallTime { WallTime(sinceEpoch: .seconds(seconds)) }

  private func wanted(in request: Request, upTo limit: Int) async throws -> Body {
    let buffer = try await request.body.collect(upTo: limit)
    let json = Data(buffer.readableBytesView)
    let known = Body.CodingKeys.allCases.map(\.rawValue)
    guard let names = try? JSONDecoder().decode([String: JSONScalar].self, from: json).keys,
      let body = try? JSONDecoder().decode(Body.self, from: json)
    else {
      throw Problem(.badRequest, #"a link is asked for by {"path": "/cameras/door/main.jpg", "for": "1h"}"#)
    }
    if let name = names.sorted().first(where: { !known.contains($0) }) {
      throw Problem(
        .badRequest, "unknown member '\(name)' (known: \(known.joined(separator: ", ")))", parameter: name)
    }
    return body
  }
}
