// Where WebRTC clients send their datagrams, and the addresses and servers that they get.

package struct WebRTCConfiguration: Sendable, Hashable {
  /// The address of the UDP port.
  package enum Listen: Sendable, Hashable {
    /// At the service's own address and port, opened for the first client.
    case automatic
    case at(host: String, port: Int)
    case off
  }

  /// An address that clients can reach and this machine does not know, such as that of a router or a
  /// container's host.
  package struct Candidate: Sendable, Hashable {
    /// A numeric address.
    package var address: String
    /// Nil for the port of `listen`.
    package var port: Int?
  }

  /// A server by which clients find their own addresses, or which relays for them.
  package struct ICEServer: Sendable, Hashable, CustomStringConvertible {
    /// Without credentials.
    package var url: String
    package var user: String?
    package var password: String?

    package var description: String { password == nil ? url : "\(url) (with credentials)" }
  }

  package var listen = Listen.automatic
  package var candidates: [Candidate] = []
  package var iceServers: [ICEServer] = []
}

extension WebRTCConfiguration.ICEServer {
  /// The value of a `Link` field.
  package var link: String {
    var link = "<\(url)>; rel=\"ice-server\""
    if let user, let password {
      link += "; username=\"\(user)\"; credential=\"\(password)\"; credential-type=\"password\""
    }
    return link
  }
}
