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
        ? "another client has the same id: is there a second service of this name and prefix?"
        : "the server ended the connection (code \(code))"
    case .closed: "the server closed the connection"
    case .silent: "the server does not answer"
    case .violation(let reason): "the server does not speak MQTT: \(reason)"
    }
  }

  /// Codes of MQTT 3.1.1 (3.2.2.3) and MQTT 5 (3.2.2.2).
  private static func refusal(_ code: UInt8) -> String {
    switch code {
    case 1, 0x84: "the server wants another version of MQTT"
    case 2, 0x85: "the server refuses the client id"
    case 3, 0x88, 0x89: "the server is not available"
    case 4, 0x86: "the server refuses the user name or the password: check mqtt.user and mqtt.password"
    case 5, 0x87: "the server does not let this user in: check mqtt.user and mqtt.password"
    case 0x8A: "the server has banned this client"
    default: "the server refuses the connection (code \(code))"
    }
  }

  /// Whether the server wants another version.
  var isOfVersion: Bool { self == .refused(1) || self == .refused(0x84) }
}
