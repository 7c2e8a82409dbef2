// What answers are made of: JSON, header fields by name, and bodies as large as pictures.
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

  /// Creates an answer that is an object of these members.
  package init(
    status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], json members: [String: JSONValue]
  ) {
    self.init(status: status, headers: headers, bytes: members.json)
  }

  /// Creates an `application/json` answer, unless `headers` contain another type.
  private init(status: HTTPResponse.Status, headers: HTTPFields, bytes: some Sequence<UInt8>) {
    var fields = headers
    if fields[.contentType] == nil { fields[.contentType] = "application/json" }
    if fields[.cacheControl] == nil { fields[.cacheControl] = "no-store" }
    self.init(status: status, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}

extension HTTPFields {
  /// The first field of a name that the library does not define; nil if there is none. Setting nil removes it.
  package subscript(named name: String) -> String? {
    get { HTTPField.Name(name).flatMap { self[$0] } }
    set {
      if let name = HTTPField.Name(name) { self[name] = newValue }
    }
  }
}

extension Optional where Wrapped == any Channel {
  /// A write only waits if the event loop knows that the socket is full: it has to see those before it first.
  package func seesWrites() async throws { try await self?.eventLoop.submit {}.get() }
}

extension ResponseBody {
  /// Creates a body that counts against the memory budget, by `lease`, until `channel` has taken all but the last of
  /// `bytes`.
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

  /// Larger than most pictures, which need one write.
  private static var partLength: Int { 256 << 10 }
}
