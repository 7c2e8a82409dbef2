// Delivers a job's pictures to their destination.
import AsyncHTTPClient
import FoundationEssentials
import GLPreview
import NATS
import NIOCore
import NIOHTTP1

/// Sends pictures to files, servers and subjects. Sending is idempotent, except for replies.
final class PictureSender: Sendable {
  private let permissions: JobPermissions
  private let client: NATSClient
  private let http: HTTPClient

  init(_ permissions: JobPermissions, _ client: NATSClient) {
    (self.permissions, self.client) = (permissions, client)
    var options = HTTPClient.Configuration()
    options.redirectConfiguration = .disallow
    options.timeout = .init(connect: .seconds(10))
    http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: options)
  }

  func close() async { try? await http.shutdown() }

  /// Fails early if pictures could not be delivered.
  ///
  /// - Throws: `JobFailure`.
  func check(_ destination: JobDestination, _ views: [ViewConfiguration]) throws {
    switch destination {
    case .files:
      guard permissions.folder != nil else { throw JobFailure("this worker writes no files (--folder)") }
    case .objects:
      for name in destination.names(views) where !permissions.writable.allows(name) {
        throw JobFailure("\(name.redactedAddress): this worker does not PUT to that host (--put-to)")
      }
    case .replies: break
    }
  }

  /// Sends the picture of a view; returns its description.
  func send(
    _ picture: EncodedPicture, of job: Job, _ view: String, to name: String, _ destination: JobDestination
  ) async throws -> JobResult.Picture {
    switch destination {
    case .files:
      guard let folder = permissions.folder else { throw JobFailure("this worker writes no files") }
      try folder.write(picture.bytes, to: name)
    case .objects: try await put(picture, to: name)
    case .replies: try reply(picture, of: job, view, to: name)
    }
    return JobResult.Picture(
      name: JobDestination.isAddress(name) ? name.redactedAddress : name, width: picture.size.width,
      height: picture.size.height, bytes: picture.bytes.count)
  }

  /// Waits until sent replies have reached the NATS server.
  func finish(_ destination: JobDestination) async throws {
    if case .replies = destination { try await client.flush() }
  }

  private func put(_ picture: EncodedPicture, to address: String) async throws {
    var request = HTTPClientRequest(url: address)
    request.method = .PUT
    request.headers.add(name: "Content-Type", value: picture.mediaType)
    request.headers.add(name: "User-Agent", value: "glpreview")
    request.body = .bytes(ByteBuffer(bytes: picture.bytes))
    // The deadline covers the whole exchange: a server may also accept no bytes, or respond one byte at a
    // time.
    let answer = try await withDeadline(permissions.limit) { [http, request] in
      let response = try await http.execute(request, timeout: .hours(24))
      _ = try? await response.body.collect(upTo: 64 << 10)
      return response.status.code
    }
    guard let status = answer else {
      throw JobFailure(
        "\(address.redactedAddress): the server did not accept it within \(permissions.limit / .seconds(1)) s",
        temporary: ExitStatus.writeFailed)
    }
    guard !(200...299).contains(status) else { return }
    let reason = "\(address.redactedAddress): the server answered \(status) to PUT"
    guard status >= 500 || [408, 425, 429].contains(status) else {
      throw JobFailure(reason, status: ExitStatus.writeFailed)
    }
    throw JobFailure(reason, temporary: ExitStatus.writeFailed)
  }

  private func reply(_ picture: EncodedPicture, of job: Job, _ view: String, to subject: String) throws {
    let headers: NATSHeaders = [
      "Job": job.id, "Batch": job.batch, "View": view, "Content-Type": picture.mediaType,
    ]
    do {
      try client.publish(subject, picture.bytes, headers: headers)
    } catch NATSError.payloadTooLarge(let count, let limit) {
      throw JobFailure(
        "the picture has \(count) bytes, but a reply has at most \(limit); use a folder, PUT or --max-bytes",
        status: ExitStatus.writeFailed)
    }
  }
}
