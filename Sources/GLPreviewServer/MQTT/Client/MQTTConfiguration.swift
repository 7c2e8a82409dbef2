// The MQTT server where this node's cameras are published, and the configuration keys below `mqtt`.

package struct MQTTConfiguration: Sendable, Hashable, CustomStringConvertible {
  /// The server's address.
  package struct Server: Sendable, Hashable, CustomStringConvertible {
    package var host = ""
    package var port = 1883
    /// Whether the connection is encrypted.
    package var isSecure = false

    package var description: String {
      "\(isSecure ? "mqtts" : "mqtt")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
  }

  package var server = Server()
  package var user: String?
  package var password: String?
  /// The path of the authorities' certificates, PEM; nil for the system's.
  package var authorities: String?
  /// The paths of a client certificate and its key, PEM.
  package var certificate: String?
  package var key: String?
  /// The first levels of all topics.
  package var prefix = "glpreview"
  /// The first levels of Home Assistant's discovery topics; nil for no discovery.
  package var discovery: String? = "homeassistant"
  /// How often each camera's picture is published; nil for once, and after each snapshot.
  package var pictures: Duration?
  /// The largest width of a published picture.
  package var pictureWidth = 640

  /// The server, without secrets.
  package var description: String { "\(server)" }

  /// The level of `PREFIX/events/TYPE`, which no camera can have as its name.
  package static let events = "events"

  /// Keys that contradict each other.
  var problems: [(key: String, reason: String)] {
    var problems: [(String, String)] = []
    if password != nil, user == nil { problems.append(("password", "needs a user: set mqtt.user")) }
    if (certificate == nil) != (key == nil) {
      problems.append((key == nil ? "certificate" : "key", "certificate and key must be set together"))
    }
    if !server.isSecure, authorities != nil || certificate != nil {
      problems.append(("server", "certificates need mqtts://, not mqtt://"))
    }
    return problems
  }
}

extension MQTTConfiguration {
  /// The key `mqtt`.
  package static let key = ConfigurationKey<ServerConfiguration>(
    "mqtt", keys, \.mqtt, new: MQTTConfiguration()
  ) { ConfigurationKeys.isThere("server", &$0, $1) }.atStart

  private static let keys: [ConfigurationKey<MQTTConfiguration>] =
    [
      .init(
        "server", .mqttServer, \.server, "none",
        "an MQTT server to which cameras are published, for Home Assistant and others ([integrations.md](integrations.md))"
      ),
      .init("user", .userName, \.user, "none", "the user name at the server"),
    ]
    + ConfigurationKey<MQTTConfiguration>.secret(
      "password", .password, \.password, "none", "the user's password")
    + [
      .init(
        "ca-file", .file, \.authorities, "the system's",
        "trusted certificates for an `mqtts://` server, PEM"),
      .init("certificate", .file, \.certificate, "none", "a client certificate, PEM"),
      .init("key", .file, \.key, "none", "the key of the certificate, PEM"),
      .init("prefix", .topic, \.prefix, "`glpreview`", "the prefix of all topics, one level or more"),
      .init(
        "discovery", .discovery, \.discovery, "`homeassistant`",
        "the prefix of Home Assistant's discovery topics; `false` disables discovery"),
      .init(
        "pictures", .pictureInterval, \.pictures, "`0`",
        "the interval at which each camera's picture is published, which opens the camera; 0: once, and after each snapshot by POST"
      ),
      .init(
        "picture-width", .whole(16...4096), \.pictureWidth, "`640`",
        "the maximum width of these pictures; larger ones are scaled down"),
    ]
}

extension ServerConfiguration {
  /// The MQTT server where the cameras are published; nil for none.
  package var mqtt: MQTTConfiguration? {
    get { sections[MQTTSection.self] }
    set { sections[MQTTSection.self] = newValue }
  }
}

private enum MQTTSection: ConfigurationSection {
  static let usual: MQTTConfiguration? = nil

  static func problems(of target: ServerConfiguration, in service: ServerConfiguration)
    -> [ConfigurationProblem]
  {
    let events = target.cameras.filter { $0.name == MQTTConfiguration.events }.map {
      ConfigurationProblem(
        path: ["cameras", $0.name], "is a reserved MQTT topic: rename the camera, or remove mqtt")
    }
    let own = target.mqtt?.problems ?? []
    return own.map { ConfigurationProblem(path: ["mqtt", $0.key], $0.reason) } + events
  }
}

extension ConfigurationFormat<MQTTConfiguration.Server> {
  fileprivate static var mqttServer: Self {
    Self("`mqtt://HOST:PORT`, `mqtts://HOST:PORT`", isSecret: true) { text in
      let form = "the server must be mqtt://HOST[:PORT] or mqtts://HOST[:PORT]"
      let scheme = ["mqtts://", "mqtt://"].first { text.hasPrefix($0) }
      guard let scheme else { throw ParameterError(form) }
      var rest = text.dropFirst(scheme.count)
      guard !rest.contains("@") else {
        throw ParameterError(
          "the URL must not contain a user name or password: use mqtt.user and mqtt.password")
      }
      if rest.last == "/" { rest.removeLast() }
      guard !rest.isEmpty, rest.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"/?#".utf8.contains($0) })
      else { throw ParameterError(form) }
      let isSecure = scheme == "mqtts://"
      let hasPort = rest.last != "]" && rest.contains(":")
      let address = hasPort ? String(rest) : "\(rest):\(isSecure ? 8883 : 1883)"
      guard case .host(let host, let port) = try ListenAddress.parse(address), port > 0 else {
        throw ParameterError(form)
      }
      return .init(host: host, port: port, isSecure: isSecure)
    }
  }
}

extension ConfigurationFormat<String> {
  /// Levels of a topic, without wildcards.
  static var topic: Self {
    Self("letters, digits, `-`, `_`, with `/` between levels") { text in
      let levels = text.split(separator: "/", omittingEmptySubsequences: false)
      let isRight = levels.allSatisfy { level in
        !level.isEmpty
          && level.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
      }
      guard isRight, text.utf8.count <= 64 else {
        throw ParameterError("must be 1 to 64 letters, digits, '-' and '_', with '/' between levels")
      }
      return text
    }
  }
}

extension ConfigurationFormat<String?> {
  fileprivate static var discovery: Self {
    Self("\(ConfigurationFormat<String>.topic.form); `false`") { text, folder in
      text == "false" ? nil : try ConfigurationFormat<String>.topic.read(text, folder)
    }
  }
}

extension ConfigurationFormat<Duration?> {
  fileprivate static var pictureInterval: Self {
    Self("time of a second or more, `0`") { text, folder in
      if text == "0" { return nil }
      let time = try ConfigurationFormat<Duration>.time.read(text, folder)
      guard time >= .seconds(1) else { throw ParameterError("'\(text)' is less than 1 s; 0 is allowed") }
      return time
    }
  }
}
