// The paths that links may lead to.

/// The path of a picture or stream of one camera.
package struct LinkedPath: Sendable, Hashable {
  /// The camera or scene that it shows.
  package let camera: String
  /// The parameter without which a link is refused: the numbers of motion events begin at 1 with each start of the
  /// service, but a link must never show another event.
  package let needs: String?

  private static let extensions = ["jpg", "jpeg", "png", "webp", "mjpeg", "mjpg", "mp4", "m3u8"]

  /// Nil unless links may lead to `url`, of which the query is ignored.
  package init?(_ url: String) {
    let parts = url.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false).map(
      String.init)
    let names = parts.drop { $0.isEmpty || $0 == "api" }
    guard names.first == "cameras", names.count > 1, names.allSatisfy({ !$0.isEmpty }) else { return nil }
    (camera, needs) = (names[names.startIndex + 1], parts.count == 6 ? "since" : nil)
    let file = parts.last?.split(separator: ".") ?? []
    switch (parts.count, names.count) {
    case (4, 3) where file.count > 1 && Self.extensions.contains(file.last?.lowercased() ?? ""): break
    case (6, 4) where parts[4] == "motion" && file.count == 2 && Int(file[0]) != nil && file[1] == "jpg":
      break
    default: return nil
    }
  }

  /// - Throws: `ParameterError` if a link to `url` would be refused.
  package func check(_ url: String) throws(ParameterError) {
    guard let needs else { return }
    let names = url.drop { $0 != "?" }.dropFirst().split(separator: "&").map { $0.prefix { $0 != "=" } }
    guard names.contains(where: { $0 == needs }) else {
      throw ParameterError(
        "path",
        "a link to an event's picture needs the parameter '\(needs)': the event's beginning, in seconds since 1970"
      )
    }
  }
}
