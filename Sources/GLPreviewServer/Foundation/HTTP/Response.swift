// The building blocks of answers: JSON, header fields by name, and bodies with large pictures.
internal import FoundationEssentials
package import HTTPTypes
internal import Hummingbird
package import NIOCore

extension Response {
  /// Creates a JSON answer with sorted keys, so that equal values give equal bytes.
  package init(status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], json: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    self.init(status: status, headers: headers, bytes: try encoder.encode(json))
  }

  /// Creates an answer with a JSON object of these members.
  package init(
    status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], json members: [String: JSONValue]
  ) {
    self.init(status: status, headers: headers, bytes: members.json)
  }

  /// Creates an `application/json` answer, unless `headers` contain another content type.
  private init(status: HTTPResponse.Status, headers: HTTPFields, bytes: some Sequence<UInt8>) {
    var fields = headers
    if fields[.contentType] == nil { fields[.contentType] = "application/json" }
    if fields[.cacheControl] == nil { fields[.cacheControl] = "no-store" }
    self.init(status: status, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}

extension HTTPFields {
  /// The first field with a name that the library does not define; nil if there is none. Setting nil removes
  /// it.
  package subscript(named name: String) -> String? {
    get { HTTPField.Name(name).flatMap { self[$0] } }
    set {
      if let name = HTTPField.Name(name) { self[name] = newValue }
    }
  }
}

extension Optional where Wrapped == any Channel {
  /// Waits until the event loop has handled the writes so far. Only then does it know whether the socket is
  /// full, so that the next write waits.
  package func seesWrites() async throws { try await self?.eventLoop.submit {}.get() }
}

extension ResponseBody {
  /// Creates a body that counts against the memory budget, by `lease`, until `channel` has accepted all but
  /// the last part of `bytes`.
  package init(_ bytes: ByteBuffer, holding lease: MemoryLease, on channel: (any Channel)?) {
    self.init(contentLength: bytes.readableBytes) { writer in
      var rest = bytes
      while rest.readableBytes > Self.partLength, let part = rest.readSlice(length: Self.partLength) {
        try await writer.write(part)
        try await channel.seesWrites()
      }
      try await writer.write(rest)
      try await writer.finish(nil)
      withExtendedLifetime(lease) {}
    }
  }

  /// The size of a part, in bytes. Most pictures are smaller and need one write.
  private static var partLength: Int { 256 << 10 }
}
