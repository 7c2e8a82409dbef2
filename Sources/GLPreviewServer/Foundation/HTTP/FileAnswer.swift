// Answers with files: whole, in parts (RFC 9110, 14), or without a body if the client has the file.
package import HTTPTypes
package import Hummingbird
internal import NIOCore

/// A file that is sent as an answer.
package struct FileAnswer: Sendable {
  /// Returns up to so many bytes from an offset on; none if they can't be read.
  package typealias Read = @Sendable (_ offset: Int, _ count: Int) async -> [UInt8]

  /// Names the file in messages, such as `the recording`.
  private let subject: String
  private let byteCount: Int
  private let entityTag: String
  private let headers: HTTPFields
  private let mayGoOn: @Sendable () -> Bool
  private let read: Read

  /// The number of bytes that are read at a time: fewer than a socket accepts at once, because each stalled
  /// reader holds one chunk.
  private static let chunk = 64 << 10

  /// Creates an answer.
  ///
  /// - Parameters:
  ///   - subject: names the file in messages, such as `the recording`.
  ///   - byteCount: the size of the file.
  ///   - entityTag: identifies its content, with quotation marks.
  ///   - headers: its content type, and further header fields.
  ///   - mayGoOn: asked before each chunk is sent; if it returns false, the answer ends early.
  ///   - read: reads from the file.
  package init(
    _ subject: String, byteCount: Int, entityTag: String, headers: HTTPFields,
    while mayGoOn: @escaping @Sendable () -> Bool, read: @escaping Read
  ) {
    (self.subject, self.byteCount, self.entityTag) = (subject, byteCount, entityTag)
    (self.headers, self.mayGoOn, self.read) = (headers, mayGoOn, read)
  }

  /// Answers a request for the file, or for a part of it.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - context: its context.
  ///   - readers: limits the files that are being sent, each of which holds a descriptor.
  ///   - budget: the memory budget of the chunks.
  /// - Returns: the answer.
  /// - Throws: `Problem`: 416 for a range outside the file, 429 and 503 if too many are being sent;
  ///   `MemoryBudget.Exceeded`.
  package func response(
    to request: Request, _ context: ServiceContext, by readers: AdmissionLimit, within budget: MemoryBudget
  ) throws -> Response {
    var headers = headers
    headers[.acceptRanges] = "bytes"
    headers[.eTag] = entityTag
    headers[.cacheControl] = "no-cache"
    if request.headers.hasCached(entityTag) { return Response(status: .notModified, headers: headers) }
    let isSame = request.headers[.ifRange].map { $0 == entityTag } ?? true
    var range = 0..<byteCount
    var status = HTTPResponse.Status.ok
    if isSame, request.method == .get, let field = request.headers[.range] {
      switch ByteRange(field, of: byteCount) {
      case .part(let part):
        (range, status) = (part, .partialContent)
        headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(byteCount)"
      case .unsatisfiable:
        throw Problem(
          .rangeNotSatisfiable, "\(subject) has \(byteCount) bytes",
          headers: ["Content-Range": "bytes */\(byteCount)"])
      case .whole: break
      }
    }
    let channel = context.channel
    // The chunk that was read, and its copy on the way to the socket.
    let (permit, lease) = (try readers.enter(), try budget.reserve(2 * Self.chunk))
    return Response(
      status: status, headers: headers,
      body: ResponseBody(contentLength: range.count) { [self, range] writer in
        defer { withExtendedLifetime((permit, lease)) {} }
        var offset = range.lowerBound
        while offset < range.upperBound {
          let bytes = await read(offset, min(Self.chunk, range.upperBound - offset))
          // What is shown may be forbidden meanwhile.
          guard !bytes.isEmpty, mayGoOn() else { throw EndedEarly(subject: subject) }
          offset += bytes.count
          try await writer.write(ByteBuffer(bytes: bytes))
          try await channel.seesWrites()
        }
        try await writer.finish(nil)
      })
  }

  /// The error of an answer that ends before the end of its file.
  private struct EndedEarly: Error, CustomStringConvertible {
    let subject: String

    var description: String { "\(subject) can't be read further, or may not be shown any more" }
  }
}
