// Why there is no connection to the MQTT server.

enum MQTTError: Error, Hashable, CustomStringConvertible {
  /// No connection was made, or it broke.
  case connection(String)
  case tls(String)
  /// The code of CONNACK.
  case refused(UInt8)
  /// The server ended the connection; the code of DISCONNECT, which only MQTT 5 has.
  case closed(UInt8?)
  /// No packet was received for too long.
  case silent
  /// Received data is not MQTT.
  case violation(String)

  var description: String {
    switch self {
    case .connection(let reason): reason
    case .tls(let reason): "TLS: \(reason)"
    case .refused(let code): Self.refusal(code)
    case .closed(let code?) where code != 0:
      code == 0x8E
        ? "another client has the same id: does a second service use this node name and prefix?"
        : "the server closed the connection (code \(code))"
    case .closed: "the server closed the connection"
    case .silent: "the server does not answer"
    case .violation(let reason): "invalid MQTT from the server: \(reason)"
    }
  }

  /// Codes of MQTT 3.1.1 (3.2.2.3) and MQTT 5 (3.2.2.2).
  private static func refusal(_ code: UInt8) -> String {
    switch code {
    case 1, 0x84: "the server requires another version of MQTT"
    case 2, 0x85: "client id refused"
    case 3, 0x88, 0x89: "the server is unavailable"
    case 4, 0x86: "wrong user name or password: check mqtt.user and mqtt.password"
    case 5, 0x87: "user not authorized: check mqtt.user and mqtt.password"
    case 0x8A: "this client is banned"
    default: "connection refused (code \(code))"
    }
  }

  /// Whether the server wants another version.
  var isOfVersion: Bool { self == .refused(1) || self == .refused(0x84) }
}
