// What a server says of itself, and what a client says of itself.
internal import FoundationEssentials

/// A server's INFO.
package struct ServerInfo: Equatable, Sendable {
  /// The server's own name.
  package let name: String
  /// Of the server, as in "2.9.10".
  package let version: String
  /// The longest message, headers included, in bytes.
  package let maximumPayload: Int
  /// Whether the server talks no further without TLS.
  package let requiresTLS: Bool
  /// Whether it talks TLS where a client wants that.
  package let offersTLS: Bool
  /// Whether it takes and gives headers.
  package let supportsHeaders: Bool
  /// To be signed by a client with an nkey.
  package let nonce: String?
  /// HOST:PORT of all servers of the cluster.
  package let connectURLs: [String]
  /// Whether it is about to shut down.
  package let isLameDuck: Bool

  private struct Fields: Decodable {
    var server_name: String?
    var version: String?
    var max_payload: Int?
    var tls_required: Bool?
    var tls_available: Bool?
    var headers: Bool?
    var nonce: String?
    var connect_urls: [String]?
    var ldm: Bool?
  }

  /// Reads the JSON behind `INFO`.
  ///
  /// - Throws: `NATSProtocolError.badInfo` where it is no object of the right types.
  package init(json: some Sequence<UInt8>) throws(NATSProtocolError) {
    guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(json)) else { throw .badInfo }
    name = fields.server_name ?? ""
    version = fields.version ?? ""
    let payload = fields.max_payload ?? 0
    maximumPayload = payload > 0 ? payload : 1 << 20
    requiresTLS = fields.tls_required ?? false
    offersTLS = requiresTLS || fields.tls_available ?? false
    supportsHeaders = fields.headers ?? false
    nonce = fields.nonce
    connectURLs = fields.connect_urls ?? []
    isLameDuck = fields.ldm ?? false
  }
}

/// The JSON of CONNECT.
struct ConnectOptions: Encodable {
  var verbose = false
  var pedantic = false
  var headers = true
  var no_responders = true
  var echo = true
  var lang = "swift"
  var version = "1"
  /// 1: INFO may come at any time.
  var `protocol` = 1
  var name: String
  var tls_required: Bool
  var auth_token: String?
  var user: String?
  var pass: String?
  var nkey: String?
  var sig: String?

  init(_ authentication: NATSAuthentication, name: String, isEncrypted: Bool, nonce: String?)
    throws(NATSError)
  {
    self.name = name
    tls_required = isEncrypted
    switch authentication {
    case .none: break
    case .token(let token): auth_token = token
    case .user(let name, let password): (user, pass) = (name, password)
    case .nkey(let key):
      guard let nonce else { throw .authentication("the server sent no nonce to sign; it has no nkeys") }
      (nkey, sig) = (key.publicKey, try key.signature(of: nonce))
    }
  }

  /// As one line.
  var json: String {
    get throws(NATSError) {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      guard let data = try? encoder.encode(self) else {
        throw .invalidConfiguration("CONNECT can't be encoded")
      }
      return String(decoding: data, as: UTF8.self)
    }
  }
}
