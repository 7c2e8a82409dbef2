// The first messages of server and client: INFO and CONNECT.
internal import FoundationEssentials

/// A server's INFO.
package struct ServerInfo: Equatable, Sendable {
  /// The server's own name.
  package let name: String
  /// The server's version, such as "2.9.10".
  package let version: String
  /// The longest message, headers included, in bytes.
  package let maximumPayload: Int
  /// Whether the server requires TLS.
  package let requiresTLS: Bool
  /// Whether the server accepts TLS.
  package let offersTLS: Bool
  /// The text that a client with an nkey signs.
  package let nonce: String?
  /// HOST:PORT of every server of the cluster.
  package let connectURLs: [String]
  /// Whether the server is shutting down (lame duck mode).
  package let isLameDuck: Bool

  private struct Fields: Decodable {
    var server_name: String?
    var version: String?
    var max_payload: Int?
    var tls_required: Bool?
    var tls_available: Bool?
    var nonce: String?
    var connect_urls: [String]?
    var ldm: Bool?
  }

  /// Parses the JSON after `INFO`.
  ///
  /// - Throws: `NATSProtocolError.badInfo` if it is not an object with values of the right types.
  package init(json: some Sequence<UInt8>) throws(NATSProtocolError) {
    guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(json)) else { throw .badInfo }
    name = fields.server_name ?? ""
    version = fields.version ?? ""
    let payload = fields.max_payload ?? 0
    maximumPayload = payload > 0 ? payload : 1 << 20
    requiresTLS = fields.tls_required ?? false
    offersTLS = requiresTLS || fields.tls_available ?? false
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
  /// 1: the client accepts INFO at any time.
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

  /// The JSON as one line.
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
