// JSON answers with sorted keys, so that equal values give equal bytes.
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

extension Response {
  /// Creates an `application/json` answer, unless `headers` contain another type.
  init(status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], json: some Encodable) throws {
    var fields = headers
    if fields[.contentType] == nil { fields[.contentType] = "application/json" }
    if fields[.cacheControl] == nil { fields[.cacheControl] = "no-store" }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    self.init(
      status: status, headers: fields,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: try encoder.encode(json))))
  }
}
