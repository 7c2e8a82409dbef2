// Signs links by the configured keys.

/// Creates signed links.
package struct LinkSigner: Sendable {
  private let keys: [LinkKey]

  /// `keys` in the order of the configuration.
  package init(_ keys: [LinkKey]) { self.keys = keys }

  /// Returns the path and query of a link to what `url` shows.
  ///
  /// - Parameters:
  ///   - url: the path and the query of a picture or stream of a camera.
  ///   - name: the name of the key; nil for the first one for the camera.
  ///   - duration: how long the link is valid; nil for a link without an end.
  ///   - now: the current time.
  /// - Returns: the link, the name of its key, and its end in seconds since 1970; nil for none.
  /// - Throws: `ParameterError` if there is no such key, or if links can't lead to `url`; `CryptographyError`.
  package func sign(
    _ url: String, by name: String? = nil, for duration: Duration?, at now: WallTime
  ) throws -> (path: String, key: String, expiry: Int?) {
    guard let linked = LinkedPath(url) else {
      throw ParameterError(
        "it must be the path of a picture or stream, such as /cameras/door/main.jpg?width=320")
    }
    try linked.check(url)
    let camera = linked.camera
    guard !keys.isEmpty else { throw ParameterError("key", "no key is configured in access.link-keys") }
    let named = keys.filter { name == nil || $0.name == name }
    guard !named.isEmpty else {
      let known = keys.map(\.name).joined(separator: ", ")
      throw ParameterError("key", "no key '\(name ?? "")' in access.link-keys (known: \(known))")
    }
    let wanted = name.map { "the key '\($0)' does not sign" } ?? "no key signs"
    let fitting = named.filter { $0.includes(camera: camera) }
    guard !fitting.isEmpty else { throw ParameterError("key", "\(wanted) links to '\(camera)'") }
    guard let key = fitting.first(where: { duration != nil || $0.allowsForever }) else {
      throw ParameterError(
        "key", "\(wanted) links to '\(camera)' without an end: set forever: true in access.link-keys")
    }
    // A link ends with a whole second, not before its time.
    let expiry = duration.map { Int(((now.sinceEpoch + $0) / .seconds(1)).rounded(.up)) }
    return (try SignedLink.signed(url, by: key, until: expiry), key.name, expiry)
  }

  /// Parses how long a link is valid: `30s`, `15m`, `12h`, `7d`.
  package static func duration(_ text: String) throws -> Duration {
    try ConfigurationFormat<Duration>.time.read(text, "")
  }
}
