// HTTP cameras: a multipart stream of JPEGs, or one JPEG that is polled.
internal import NIOCore
internal import NIOHTTP1

struct HTTPDevice: CaptureDevice {
  let name: String
  let secrets: [String]
  private let address: HTTPAddress
  private let options: SourceOptions
  private let decoding: OriginalVideo.OpenDecoder?

  private static let redirectionLimit = 5

  /// Creates a device that is not connected yet. Throws only `.badRequest`.
  init(
    _ text: String, _ options: SourceOptions, _ decoding: OriginalVideo.OpenDecoder? = nil
  ) throws(SourceError) {
    do throws(ParameterError) {
      address = try HTTPAddress(text)
    } catch {
      throw SourceError(.badRequest, path: text, reason: error.description)
    }
    name = Redaction.source(text)
    secrets = Redaction.secrets(in: text) + options.headers.map(\.value)
    self.options = options
    self.decoding = decoding
    for field in options.headers where !field.isSendable {
      throw SourceError(
        .badRequest, path: name, reason: "a header can't be sent: \(field.name.prefix(40)): ...")
    }
  }

  func connect() async throws -> any CaptureConnection {
    var target = address
    var server = HTTPServer(target.server, requestOptions(for: target))
    do {
      for _ in 0...Self.redirectionLimit {
        let reply = try await server.get(target)
        guard let location = redirection(reply) else {
          return try await HTTPConnection(reply, server, target, name: name, options, decoding)
        }
        let next = try follow(location, from: target)
        if let refusal = options.redirects.refusal(from: address.host, to: next.host) {
          throw SourceError(.unavailable, path: name, reason: refusal)
        }
        if next.server == target.server {
          try await server.discard(reply)
        } else {
          await server.end()
          server = HTTPServer(next.server, requestOptions(for: next))
        }
        target = next
      }
      throw SourceError(
        .unavailable, path: name, reason: "redirects more than \(Self.redirectionLimit) times")
    } catch {
      await server.end()
      try Task.checkCancellation()
      throw SourceError.http(error, name: name)
    }
  }

  private func redirection(_ reply: HTTPServer.Reply) -> String? {
    switch reply.head.status.code {
    case 301, 302, 303, 307, 308: reply.head.headers.first(name: "location")
    default: nil
    }
  }

  private func follow(_ location: String, from target: HTTPAddress) throws -> HTTPAddress {
    do throws(ParameterError) {
      return try target.following(location)
    } catch {
      throw SourceError(
        .unavailable, path: name,
        reason: "redirects to an address that \(error): \(Redaction.source(location))")
    }
  }

  /// Credentials and headers go only to the server that the user named, and the certificate setting applies
  /// only to its host.
  private func requestOptions(for target: HTTPAddress) -> HTTPRequestOptions {
    HTTPRequestOptions(
      credentials: target.credentials, headers: address.isTrusted(target.server) ? options.headers : [],
      certificate: target.host == address.host ? options.certificate ?? .system : .system,
      trustedCertificates: options.trustedCertificates,
      connectsWithin: options.live.connectsWithin)
  }
}

extension SourceOptions.HeaderField {
  /// Whether the field is valid in a request (RFC 9110, 5.1 and 5.5).
  fileprivate var isSendable: Bool {
    let others = "!#$%&'*+-.^_`|~".utf8
    let isName = name.utf8.allSatisfy { byte in
      others.contains(byte) || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
    }
    return !name.isEmpty && isName && value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
  }
}
